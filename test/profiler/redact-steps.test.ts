/**
 * Masking takes time linear in the length of a text, whatever the text. The same characters are masked as one text and as eight; were the
 * time quadratic, the one would take eight times as long. No time by itself says anything here, on any machine.
 */
import { expect } from 'chai';
import { createRedactor } from '../../app/profiler/masking/redact.ts';

const PIECES = 8;
const PIECE = 8192;
const ROUNDS = 6;
/** Between 1 and 8. */
const MOST_TIMES_LONGER = 4;

const redactor = createRedactor({ secrets: { KEY: 'correct horse+battery/staple' } });

const UNITS = [
  'password ', 'password is ', '--password ', 'password: ', 'password=', 'password="', "password='", 'password: \\"', 'password: \\\\"',
  '"password', '"password":', '\\"password\\":', "'password', '", '["password","', 'key:', 'key="', '"key":"', '<key>', '<password>',
  '<input name="key" value="', '(password) values (', "(password) values ('", "('", '(', 'insert into a (b, password) values (1, ',
  'identified by ', 'token%3A', '?token%3A=', '%20a', 'a=%22', 'key=%7B%22', 'code=1&state=', 'sk-', 'sk-a', 'ghp_', 'AIza', 'xoxb-',
  'eyJ', 'eyJ.', 'eyJhbGciOiJkaXIiLCJlbmMiOiIifQ.', '-----BEGIN PRIVATE KEY-----', '-----BEGIN ', 'Bearer ', 'Bearer%20', '4111 ',
  '4', '4-', 'DE89 ', 'DE89', 'DE8', 'a://b:', '://', 'a%3A%2F%2Fb%3A', '$2b$', '/bot1:', '\\', '\\"', '"', "'", '`', 'x'.repeat(61), '\n',
  'a+', '&quot;', "''", "'a''b' password ", '<&gt;', 'password%3D1+', '<input name=\\"', 'a%253A%252F%252Fb%253A', 'cookie: ', 'name="password"\r\n\r\n', 'authorization', 'is ', ' is is',
  'mysql ', '\\x">', '(a)=(', '(token)=(', "entry 'a' for key '", "token in ('", "token in ('a', ", 'your code ', 'otp ', 'otp <b>', 'a,token\n', 'a,token', 'token: |\n x\n', 'token: |\n', ' x\n',
  'token=[', 'token=<a', '/reset/', '/reset/a', '://a', '<a id=token>', '<a id=token', '"token";s:1:', 'Private-Lines: 1\n', '-----', '1a:AA', 'a8Q~', 'a.', 'sl.', 'type: "password", value: ',
  'token: {', "token: {'", 'token: Set(1) {', 'token: [Object] {', "token: [ '", 'token=a(', "token=a('", "token='a' + ", "(token) values (a('", 'a://b:c/', 'a://b:c/d@', '<Buffer 5a', 'token: <Buffer 5a',
  'mnemonic abandon ', 'mnemonic: abandon ', 'token,a\n"', 'MIIEvQIBADANBgkq', 'SCRAM-SHA-256$1:', '*0A', 'v4.local.', 'Fe26.2*', 'MTA', 'a.atlasv1.', 'token： ', 'curl -ubob:', 'hooks.slack.com/services/sk-', 'a://b:c', '://aaaaaaaaaaaaaaaaaaaa', '<input ', '(a)=(b', "entry 'a", 'çç', 'ç: ',
]; // prettier-ignore

const CODE_UNITS = [
  'token: ', 'token: a = ', 'token = ', "token === '", "token ?? '", 'env.TOKEN || ', "'token', '", 'setToken(', "'a1b2c3' === ", "'a1' === a.", 'users: {', 'Buffer.from(', 'token = Buffer.from(', '// ', '\n// token: ', ' ', "'a ", "' '", "'\\n", '`', 'a"',
  '-----END PRIVATE KEY-----', `${'A'.repeat(64)}\n`, '["x"]',
]; // prettier-ignore

function timeOf(texts: readonly string[], mask: (text: string) => unknown): number {
  const { user } = process.cpuUsage();
  for (const text of texts) mask(text);
  return process.cpuUsage({ user, system: 0 }).user;
}

/** How many times longer one text takes than its pieces; the least of several rounds. */
function timesLonger(unit: string, mask: (text: string) => unknown = redactor.text): number {
  const piece = unit.repeat(Math.ceil(PIECE / unit.length));
  const pieces = Array.from({ length: PIECES }, () => piece);
  const whole = [piece.repeat(PIECES)];
  let least = Infinity;
  for (let round = 0; round < ROUNDS && least > MOST_TIMES_LONGER; round++) {
    least = Math.min(least, (timeOf(whole, mask) + 1000) / (timeOf(pieces, mask) + 1000));
  }
  return least;
}

describe('the time that masking takes', () => {
  for (const unit of UNITS) {
    it(`is linear in ${JSON.stringify(unit)}, many times`, () => {
      expect(timesLonger(unit)).to.be.lessThan(MOST_TIMES_LONGER);
    });
  }

  for (const unit of CODE_UNITS) {
    it(`is linear in code of ${JSON.stringify(unit)}, many times`, () => {
      const mask = (excerpt: string): unknown => redactor.tree({ excerpt });
      expect(timesLonger(unit, mask)).to.be.lessThan(MOST_TIMES_LONGER);
    });
  }
});
