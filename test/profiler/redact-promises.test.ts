/** Holds each row of the tables in docs/masking.md: what is masked, and what is not. */
import { expect } from 'chai';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../../app/paths.ts';
import { truncateText } from '../../app/profiler/record/plain.ts';
import { createRedactor } from '../../app/profiler/masking/redact.ts';
import { examplesOf } from '../support/masking-table.ts';

const redactor = createRedactor();
const MASK = '[masked]';
/** Of a secret. */
const SHOWN_BEFORE_CUT = 14;
const security = readFileSync(join(packageRoot(), 'docs/masking.md'), 'utf8');

/** As it may stand in a profile: alone, in a line, and as the value that JSON makes of it. */
function shownOf(text: string): string[] {
  const shown = [redactor.text(text), redactor.text(`before ${text} after`)];
  const field = /^([A-Za-z-]+): (.*)$/.exec(text);
  if (field !== null)
    shown.push(JSON.stringify(redactor.tree({ headers: [{ name: field[1], value: field[2] }] }).value));
  try {
    shown.push(JSON.stringify(redactor.tree({ body: JSON.parse(text) as unknown, text }).value));
  } catch {
    // No JSON.
  }
  return shown;
}

describe('what docs/masking.md says of masking', () => {
  const promised = examplesOf(security, 'Masked values', 'Kind');
  const others = examplesOf(security, 'Masked values', 'Not masked');

  it('is read from its tables', () => {
    expect(promised.length).to.be.greaterThan(120);
    expect(others.length).to.be.greaterThan(10);
  });

  for (const { kind, example, text, secrets } of promised) {
    it(`masks ${kind}: ${example}`, () => {
      for (const shown of shownOf(text)) for (const secret of secrets) expect(shown).to.not.contain(secret);
    });
  }

  for (const { kind, example, text } of others) {
    it(`does not mask ${kind}: ${example}`, () => {
      expect(redactor.text(text)).to.equal(text);
    });
  }
});

/** Lines that an application logs, in which nothing is a secret. */
const INNOCENT = [
 'Order 4711-2026-0001 for customer 81723 created in 12.3 ms',
 'ETag: W/"1f-QxK2s8sL0mWm0m4n2Jx1hQ"', 'etag W/"a3f5c9e1b2d4"', 'If-None-Match: "686897696a7c876b7e"',
 'x-request-id: 0112f5a0-fb86-43cf-8b5a-d57b1c25450d', 'req 0112f5a0-fb86-43cf-8b5a-d57b1c25450d done',
 'commit d0465e1c0ffee1234567890abcdef1234567890a', 'sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
 'duplicate key value violates unique constraint "users_pkey"', 'Key (id)=(550e8400-e29b-41d4-a716-446655440000) already exists.',
 'the key is missing', 'key not found: user:42', 'cache key user:42:profile missed', 'auth -> users', 'file://C:\\Users\\bob\\app.js', 'http://localhost:3000', 'origin: `http://localhost:3030`,', 'http://localhost:${port}', 'redirect to http%3A%2F%2Flocalhost%3A3000', 'the primary key is id', 'foreign key orders_user_id_fkey', 'press any key to continue', 'keyboard layout de', 'monkey patched fs.readFile',
 'TokenExpiredError: jwt expired', 'AuthenticationError: The email or password is wrong\n    at login (/app/a.js:1:2)', 'Error: InvalidPasswordException: Too short', '{"name":"AuthError"}',
 'author: Jane Doe', 'authored by jane', 'passed 12 tests, 0 failed', 'passenger: Bob', 'bypass the cache', 'compass heading 270', 'authority=example.com', 'tokenizer: wordpiece', 'used 1,204 tokens', 'tokens: 1204', 'max_tokens=4096', 'prompt_tokens: 12, completion_tokens: 33',
 'GET /products?page=2&sort=-price&q=red%20shoes', 'GET /search?q=key+lime+pie', 'GET /a?code=SUMMER2024', 'country code: DE', 'status code: 404', 'exit code 1', 'error code: ECONNREFUSED', 'zip code 10115', 'currency_code=EUR',
 'session started', 'session: 12 users', 'phone +49 30 123456789', 'IMEI 490154203237518', 'timestamp 1700000000000', 'unix 1764000000', 'id=507f1f77bcf86cd799439011', 'trace 4bf92f3577b34da6a3ce929d0e0e4736', 'traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
 'pin: 5 profiles', 'pinned profile a1b2c3', 'saltwater 12', 'signature algorithm RS256', 'no signature found', 'secretary: Ann', 'cookie consent accepted', 'cookies: 3', 'auth: required', 'authentication failed for user bob', 'authorized: true', 'isAuthenticated=true', 'password reset mail sent', 'password must have 8 characters', 'password is too short', 'password field is required', 'token expired', 'token "a" not found', 'Unexpected token < in JSON at position 0', 'invalid token at 12:5', 'csrf check passed',
 'GET /tokens/42', '/verify/12345', '/invite/bob', '/reset/reset-styles-of-2024.css', 'https://medium.example/@user1234567890abcd/a', 'ssh://deploy@host.example', 'the error code is 500123', 'status code is 404', 'your zip code 10115',
 'Key (id, email)=(1, a@b.test) already exists.', "Duplicate entry 'bob@a.test' for key 'users.email_key'", "where status in ('paid', 'open1234')", "select token::text, auth::jsonb from a where b like 'x%'", 'id,name,email\n1,Bob,b@a.test', 'name,tokens used\nBob and Ann', 'bypass=1', 'compass: north12', 'live_orders_2024', 'test_users_v2', 'patched 12 files', '<div id="password-help">Use 8 characters</div>', '<li id="token-3">three</li>', 'tokens: [12, 13]', 'a:1:{s:4:"name";s:3:"Bob";}',
 'select * from users where key = $1', 'select password from users where id = $1', 'update users set password = $1 where id = $2', 'insert into users (email, password) values ($1, $2)', "select 'it''s' as a", 'Version 10.4.0-beta.17', 'at Object.<anonymous> (/app/src/key-store.ts:12:34)', '/home/me/projects/api-keys/readme.md', 'C++ and a+b=c', 'progress 50%', '100%25 sure', 'a%20b%20c', 'Content-Type: application/x-www-form-urlencoded', 'ISBN 978-3-16-148410-0', 'EAN 4006381333931', 'order 4111111111111112', 'amount 1234567890123', 'Tom &amp; Jerry', '<p>Fish &amp; chips</p>', 'hash: #section-2', 'sort_key=created_at', 'partition key: 2024', 'public key: none', 'apiVersion: v1', 'redirect to /login?next=%2Faccount%2Fkeys', 'license: MIT', 'ticket: PROJ-1234', 'ticket #8812 closed', 'invite sent to bob', 'seed: 42', 'private: true', 'webhook received', 'assertion failed', 'state=pending', 'nonce=1',
]; // prettier-ignore

describe('what masking leaves alone', () => {
  for (const line of INNOCENT)
    it(line, () => {
      expect(redactor.text(line)).to.equal(line);
    });
});

describe('what an encoding hides', () => {
  const promised = examplesOf(security, 'Masked values', 'Kind');
  const encodings: Record<string, (text: string) => string> = {
    'a part of a path': (text) => `/a/${encodeURIComponent(text)}/b`,
    'a form': (text) => new URLSearchParams({ note: text }).toString(),
    'an address in an address': (text) =>
      `/a?next=${encodeURIComponent(`/b?${new URLSearchParams({ note: text }).toString()}`)}`,
    XML: (text) =>
      `<n>${text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')}</n>`,
    'a literal of SQL': (text) => `select '${text.replaceAll("'", "''")}' as a`,
    'JSON in JSON': (text) => JSON.stringify({ event: JSON.stringify({ notes: [text] }) }),
    'JSON that was cut off': (text) => `{"notes":${JSON.stringify([text])},`,
    'JSON in base64': (text) => `state ${Buffer.from(JSON.stringify({ note: text })).toString('base64')}`,
    'JSON in base64 in JSON': (text) =>
      JSON.stringify({ state: Buffer.from(JSON.stringify([{ note: text }])).toString('base64url') }),
  };
  const inBase64 = (text: string): string =>
    text.replace(/[\w+/-]{4,}/g, (run) => Buffer.from(run, 'base64').toString());
  for (const [name, encode] of Object.entries(encodings))
    it(`is masked in ${name}`, () => {
      const left = promised.filter(({ text, secrets }) => {
        const shown = redactor.text(encode(text));
        return secrets.some((secret) => shown.includes(secret) || inBase64(shown).includes(secret));
      });
      expect(left.map(({ text }) => text)).to.deep.equal([]);
    });

  it('is masked where it was truncated', () => {
    // A part of a card’s number has no check digit; what follows `@` or `/` may be a host.
    const whole = /^(?:payment cards|bank accounts)|:a[@/]SECRET|\/\/SECRET@|code=hunter22/;
    const left = promised.flatMap(({ kind, example, text, secrets: [secret = ''] }) => {
      if (whole.test(kind) || whole.test(example)) return [];
      const to = text.indexOf(secret) + SHOWN_BEFORE_CUT;
      const shown = redactor.text(truncateText(`${text} and more`, to));
      return shown.includes(secret.slice(0, SHOWN_BEFORE_CUT)) ? [text] : [];
    });
    expect(left).to.deep.equal([]);
  });

  it('stays readable around the mask', () => {
    const shown = (text: string): string => redactor.text(text);
    expect(shown('/a/the%20password%20is%20hunter2Staple/b?x=a%20b')).to.equal(
      `/a/the%20password%20is%20${MASK}/b?x=a%20b`,
    );
    expect(shown('<n a="1">{&quot;password&quot;:&quot;hunter2Staple&quot;}</n>')).to.equal(
      `<n a="1">{&quot;password&quot;:&quot;${MASK}&quot;}</n>`,
    );
    expect(shown("select 'it''s password=''hunter2''', 'it''s'")).to.equal(
      `select 'it''s password=''${MASK}''', 'it''s'`,
    );
    expect(shown(`data ${btoa('{"a":1,"password":"hunter2","b":[2]}')}.`)).to.equal(
      `data ${btoa('{"a":1,"password":"')}${MASK}${btoa('","b":[2]}')}.`,
    );
    expect(shown('/a?x=100%25%20of%20it&y=a+b&z=%zz')).to.equal('/a?x=100%25%20of%20it&y=a+b&z=%zz');
  });
});
