import { execFileSync } from 'node:child_process';
import { expect } from 'chai';
import { load } from 'cheerio';
import type { RequestPanelData } from '../../app/panels/request/data.ts';
import { requestPanel } from '../../app/panels/request/index.ts';
import { receivedSection, sentSection } from '../../app/panels/request/bodies.ts';
import { toCurl } from '../../app/panels/request/curl.ts';
import { shellQuote } from '../../app/panels/shared/curl.ts';
import { decodePreview } from '../../app/profiler/http-text.ts';
import type { BodyFact } from '../../app/profiler/record/facts.ts';
import type { Panel } from '../../app/profiler/panel.ts';
import { rowsMarkdown } from '../../app/render/rows-markdown.ts';
import type { Profile } from '../../app/profiler/profile.ts';
import { createPageFixture, type Recorded } from '../support/page-fixture.ts';
import { panelHtml } from '../support/panel-data.ts';

const panel = requestPanel as Panel;

async function record(given: Recorded): Promise<{ profile: Profile; data: RequestPanelData; html: string }> {
  const fixture = createPageFixture([panel]);
  const profile = await fixture.profileOf(given);
  const html = panelHtml(fixture.services.renderPage, panel, { profile });
  return { profile, data: profile.panels.request?.data as RequestPanelData, html };
}

function withBody(body: Partial<BodyFact> & { text?: string }): Recorded['more'] {
  const { text = '', ...rest } = body;
  return (context) => {
    context.add('body', {
      bytes: Buffer.byteLength(text),
      contentType: null,
      preview: Buffer.from(text),
      truncated: false,
      files: [],
      ...rest,
    });
  };
}

describe('panel request: what is kept', () => {
  it('keeps headers in order, with true case and repetitions', async () => {
    const headers = ['Host', 'a', 'X-B', '1', 'x-b', '2', '__proto__', 'three'];
    const { data, html } = await record({ headers });
    expect(data.headers.map(({ name, value }) => [name, value])).to.deep.equal([
      ['Host', 'a'],
      ['X-B', '1'],
      ['x-b', '2'],
      ['__proto__', 'three'],
    ]);
    const $ = load(html);
    expect(
      $('#request-headers th')
        .map((_i, cell) => $(cell).text())
        .get(),
    ).to.deep.equal(['Host', 'X-B', 'x-b', '__proto__']);
  });

  for (const secret of ['correct horse battery', `a;b"c'd,e staple`, 'one:two {three} <four>'])
    it(`masks a secret of a form whole that was sent without encoding: ${secret}`, async () => {
      const { profile, html } = await record({
        method: 'POST',
        headers: ['Host', 'a', 'Content-Type', 'application/x-www-form-urlencoded'],
        more: withBody({
          text: `email=a@b.example&password=${secret}`,
          contentType: 'application/x-www-form-urlencoded',
          parsed: { email: 'a@b.example', password: secret },
        }),
      });
      const last = secret.split(/[^a-z]+/).findLast((word) => word !== '') ?? '';
      expect(JSON.stringify(profile.panels)).to.not.include(last);
      expect(load(html)('#curl-v').text()).to.not.include(last);
      expect(load(html)('#raw-body pre').text()).to.include('email=a').and.include('password=');
    });

  it('shows query and route parameters as rows', async () => {
    const { html } = await record({
      url: '/orders/12?a=1&a=2&empty=&b%20c=%zz',
      more: (context) => {
        context.add('route', {
          pattern: '/orders/:id',
          method: 'GET',
          params: { id: '12' },
          handler: null,
          source: null,
        });
      },
    });
    const $ = load(html);
    expect(
      $('#query tr')
        .map((_i, row) => $(row).find('th, td:not(.act)').text())
        .get(),
    ).to.deep.equal(['a1', 'a2', 'emptyempty', 'b c%zz']);
    expect($('#route-parameters tr').text()).to.equal('id12');
  });

  it('shows the address of a client that is connected directly', async () => {
    for (const chain of [[], ['203.0.113.24']]) {
      const { html } = await record({
        request: { origin: { scheme: 'http', host: 'a', port: 80, origin: 'http://a', clientAddress: '203.0.113.24', chain, trusted: false, hostError: null } },
      }); // prettier-ignore
      const $ = load(html);
      expect($('#client tr').first().text().replace(/\s+/g, ' ')).to.equal(
        'Client203.0.113.24 port 51234, connected directly',
      );
    }
  });

  it('keeps no value of a cookie, and masks headers by their name', async () => {
    const { data, profile, html } = await record({
      headers: ['Cookie', 'sid=abc; theme=dark', 'Authorization', 'Bearer 0123456789abcdef'],
      responseHeaders: ['Set-Cookie', 'sid=xyz; HttpOnly'],
    });
    expect(data.jar).to.deep.equal([
      { name: 'sid', length: 3 },
      { name: 'theme', length: 4 },
    ]);
    expect(JSON.stringify(profile)).to.not.match(/abc;|dark|0123456789|xyz/);
    expect(load(html)('#request-headers .say').text()).to.contain('masked: name');
  });

  it('marks credentials, the same for the same', async () => {
    const markOf = async (...headers: string[]) => (await record({ headers })).data.mark;
    const [own, again, other] = [
      await markOf('Authorization', 'Bearer 0123456789abcdef'),
      await markOf('authorization', 'Bearer 0123456789abcdef'),
      await markOf('Authorization', 'Bearer fedcba9876543210'),
    ];
    expect(own)
      .to.match(/^[0-9a-f]{8}$/)
      .and.to.equal(again)
      .and.not.to.equal(other);
    expect(await markOf('Accept', '*/*')).to.equal(undefined);
  });

  it('shows form fields, files and what a parser made, masked by name', async () => {
    const { html, profile } = await record({
      method: 'POST',
      more: withBody({
        text: '--x secret-in-raw-form; filename="kettle.png"\r\n\r\n\uFEFFa;b',
        contentType: 'multipart/form-data; boundary=x',
        parsed: { title: 'Kettle', password: 'pw1', tags: ['a', 'b'] },
        files: [{ field: 'photo', name: 'kettle.png', contentType: 'image/png', bytes: 2048 }],
      }),
    });
    const $ = load(html);
    expect(
      $('#fields th')
        .map((_i, cell) => $(cell).text())
        .get(),
    ).to.deep.equal(['title', 'password', 'tags']);
    expect($('#fields td').eq(1).text()).to.contain('[masked 1, string]');
    expect($('#file-1').text().replace(/\s+/g, ' ').trim()).to.equal('photokettle.pngimage/png2.0 KiB');
    expect(JSON.stringify(profile)).to.contain('"byteOrderMark":true').and.not.match(/pw1|secret-in-raw-form/); // prettier-ignore
  });

  it('shows JSON as it was parsed and as it was sent', async () => {
    const text = '{"qty":3,"password":"pw1"}';
    const { html } = await record({
      method: 'POST',
      more: withBody({ text, contentType: 'application/json', parsed: JSON.parse(text) }),
    });
    const $ = load(html);
    expect(
      $('#parsed-v > span')
        .map((_i, line) => $(line).text())
        .get()
        .join(''),
    ).to.equal('{  "qty": 3,  "password": "[masked 1, string]"}');
    expect($('#raw-body pre').text()).to.equal('{"qty":3,"password":"[masked 1, string]"}');
  });

  it('says type and size of what is no text', async () => {
    const { data, html } = await record({
      method: 'POST',
      more: withBody({
        text: '\0\x01\x02',
        bytes: 3_000_000,
        contentType: 'application/octet-stream',
        truncated: true,
      }),
    });
    expect(data.body?.text).to.equal(null);
    expect(load(html)('#body').text())
      .to.contain('2.9 MiB, application/octet-stream')
      .and.to.contain('Binary: only type and size');
  });

  it('has an empty state for a request of which nothing is known', async () => {
    const fixture = createPageFixture([panel]);
    const context = fixture.recorder.open('request');
    const profile = fixture.recorder.snapshot(context);
    const html = panelHtml(fixture.services.renderPage, panel, { profile });
    expect(load(html)('.empty').text()).to.contain('Nothing was recorded for this request.');
  });

  it('says that a request still runs', async () => {
    const { html } = await record({ response: { headersAtMs: null, rawHeaders: [] } });
    expect(load(html)('#response').text()).to.contain('No response was sent.');
  });
});

describe('panel request: previews', () => {
  const text = (bytes: Buffer, contentType: string | null, encoding: string | null = null): string | null =>
    decodePreview(bytes, { contentType, encoding });

  it('reads textual types only, in their charset', () => {
    expect(text(Buffer.from('é'), 'text/plain; charset=utf-8')).to.equal('é');
    expect(text(Buffer.from([0xe9]), 'text/plain; charset="iso-8859-1"')).to.equal('é');
    expect(text(Buffer.from('{}'), 'application/problem+json')).to.equal('{}');
    expect(text(Buffer.from('x'), 'image/png')).to.equal(null);
    expect(text(Buffer.from('x'), null)).to.equal(null);
  });

  it('leaves out a character cut in two, and survives an unknown charset', () => {
    expect(text(Buffer.from('aé').subarray(0, 2), 'text/plain')).to.equal('a');
    expect(text(Buffer.from('a'), 'text/plain; charset=klingon')).to.equal('a');
  });

  it('does not take compressed bytes for text', () => {
    expect(text(Buffer.from('x'), 'text/html', 'gzip')).to.equal(null);
    expect(text(Buffer.from('x'), 'text/html', 'identity')).to.equal('x');
  });
});

describe('panel request: as cURL', () => {
  /** What a POSIX shell makes of the command: its words. */
  function wordsOf(lines: readonly string[]): string[] {
    const script = `curl() { printf '%s\\0' "$@"; }\n${lines.join('\n')}`;
    return execFileSync('/bin/sh', ['-c', script], { encoding: 'utf8' }).split('\0').slice(0, -1);
  }

  async function curlOf(given: Recorded): Promise<string[]> {
    const { data } = await record(given);
    return wordsOf(toCurl(data));
  }

  it('needs no option for a plain GET', async () => {
    expect(await curlOf({ headers: ['Host', 'shop.example.com'] })).to.deep.equal([
      'https://shop.example.com/orders/4712?tab=items',
    ]);
  });

  it('leaves out what curl and the proxy write', async () => {
    const headers = [
      'Host',
      'h',
      'Accept',
      'text/html',
      'Content-Length',
      '3',
      'X-Forwarded-For',
      '1.2.3.4',
      'Accept-Encoding',
      'gzip',
      'X-Empty',
      '',
    ];
    expect((await curlOf({ headers })).slice(1)).to.deep.equal([
      '-H',
      'Accept: text/html',
      '--compressed',
      '-H',
      'X-Empty;',
    ]);
  });

  it('quotes everything so that a shell changes nothing', async () => {
    const value = `it's "$(id)" \`id\` \\ !! %s ; & | > ~ *`;
    const words = await curlOf({ url: `/a'b$(id)?q=[1]{2}`, headers: ['X-Odd', value] });
    expect(words).to.deep.equal([
      `https://shop.example.com/a'b$(id)?q=[1]{2}`,
      '--globoff',
      '-H',
      `X-Odd: ${value}`,
    ]);
  });

  it('shows a short response body at once, and folds a long one', () => {
    const rowOf = (text: string) => {
      const response = { status: 422, outcome: 'finished', toolbarBytes: 0, toolbarAbsent: null, text, contentType: 'application/json', bytes: text.length }; // prettier-ignore
      return sentSection({ response } as unknown as RequestPanelData, { kind: 'request' } as Profile).rows[0];
    };
    expect(rowOf('{"error":"quantity"}')).to.have.property('block');
    expect(rowOf('{"error":"quantity"}')).to.not.have.property('detail');
    expect(rowOf(`{"error":"${'x'.repeat(2000)}"}`)).to.have.property('detail');
  });

  it('survives line breaks and NUL in a value', () => {
    const [word] = wordsOf([`curl ${shellQuote("a\nb\0c'd")}`]);
    expect(word).to.equal("a\nbc'd");
  });

  it('names a method only where curl would choose another', async () => {
    const json = withBody({ text: '{"a":1}', contentType: 'application/json' });
    expect(await curlOf({ method: 'POST', headers: [], more: json })).to.not.include('-X');
    expect(await curlOf({ method: 'PUT', headers: [], more: json })).to.include('PUT');
    expect(await curlOf({ method: 'GET', headers: [], more: json })).to.include.members(['-X', 'GET']);
    expect(await curlOf({ method: 'POST', headers: [] })).to.include.members(['-X', 'POST']);
    expect(await curlOf({ method: 'HEAD', headers: [] })).to.deep.equal([
      'https://shop.example.com/orders/4712?tab=items',
      '--head',
    ]);
    expect(await curlOf({ method: 'm-search', headers: [] })).to.include('m-search');
  });

  it('sends the body as it came, and nothing of one that was cut', async () => {
    const text = `{"note":"it's @file"}`;
    const whole = await curlOf({
      method: 'POST',
      headers: [],
      more: withBody({ text, contentType: 'application/json' }),
    });
    expect(whole.slice(-2)).to.deep.equal(['--data-raw', text]);
    const more = withBody({ text, contentType: 'application/json', truncated: true });
    expect(await curlOf({ method: 'POST', headers: [], more })).to.not.include('--data-raw');
    const { data } = await record({ method: 'POST', more });
    expect(receivedSection(data), 'in Markdown, which has it nowhere else').to.not.have.property(
      'inMarkdown',
    );
  });

  it('rebuilds a multipart form from its parts', async () => {
    const words = await curlOf({
      method: 'POST',
      headers: ['Content-Type', 'multipart/form-data; boundary=x'],
      more: withBody({
        text: 'raw',
        contentType: 'multipart/form-data; boundary=x',
        parsed: { note: '@not-a-file', tags: ['a', 'b'] },
        files: [{ field: 'f', name: 'a"b;c.png', contentType: 'image/png', bytes: 3 }],
      }),
    });
    expect(words.slice(1)).to.deep.equal([
      '--form-string', 'note=@not-a-file', '--form-string', 'tags=a', '--form-string', 'tags=b', '-F', 'f=@"a\\"b;c.png";type=image/png',
    ]); // prettier-ignore
  });

  it('lets no client name a file that curl reads', async () => {
    const file = { bytes: 3, contentType: 'text/plain;headers=@/etc/passwd' };
    const words = await curlOf({
      method: 'POST',
      headers: ['Content-Type', 'multipart/form-data; boundary=x'],
      more: withBody({
        text: 'raw',
        contentType: 'multipart/form-data; boundary=x',
        parsed: {},
        files: [
          { ...file, field: 'f', name: '/home/ada/.ssh/id_rsa' },
          { ...file, field: 'f', name: '..\\..\\secret.txt' },
          { ...file, field: 'x=@/etc/passwd;a', name: 'b' },
        ],
      }),
    });
    expect(words.slice(1)).to.deep.equal([
      '-F', 'f=@"id_rsa";type=text/plain', '-F', 'f=@"secret.txt";type=text/plain', '-F', 'x%3D@/etc/passwd;a=@"b";type=text/plain',
    ]); // prettier-ignore
  });

  it('names a file as it was sent, if a parser read its name as Latin-1', async () => {
    const name = Buffer.from('Größe.txt').toString('latin1');
    const words = await curlOf({
      method: 'POST',
      headers: ['Content-Type', 'multipart/form-data; boundary=x'],
      more: withBody({
        text: 'raw',
        contentType: 'multipart/form-data; boundary=x',
        parsed: {},
        files: [{ field: 'f', name, bytes: 3, contentType: 'text/plain' }],
      }),
    });
    expect(words.at(-1)).to.equal('f=@"Größe.txt";type=text/plain');
  });

  it('keeps the order of fields and files, as far as the parts are in what was recorded', async () => {
    const part = (name: string, more = ''): string =>
      `--x\r\nContent-Disposition: form-data; name="${name}"${more}\r\n\r\nvalue name="no"\r\n`;
    const orderOf = async (names: readonly string[]): Promise<string[]> => {
      const words = await curlOf({
        method: 'POST',
        headers: [],
        more: withBody({
          text: names.map((name) => part(name, name === 'f' ? '; filename="a.png"' : '')).join(''),
          contentType: 'multipart/form-data; boundary=x',
          parsed: { note: 'n', lines: [{ sku: 's' }], folder: 'd' },
          files: [
            { field: 'f', name: 'a.png', contentType: 'image/png', bytes: 3 },
            { field: 'f', name: 'b.png', contentType: 'image/png', bytes: 3 },
          ],
        }),
      });
      return words
        .filter((word) => /^\w+=/.test(word))
        .map((word) => `${word.split('=')[0]} ${/=[^a-z]*(\w)/.exec(word)?.[1]}`);
    };
    expect(await orderOf(['folder', 'f', 'lines[0][sku]', 'f', 'note'])).to.deep.equal([
      'folder d', 'f a', 'lines s', 'f b', 'note n',
    ]); // prettier-ignore
    expect(await orderOf(['f', 'f'])).to.deep.equal(['f a', 'f b', 'note n', 'lines s', 'folder d']);
  });

  it('keeps a target that is no path, and dots in a path', async () => {
    expect(await curlOf({ method: 'OPTIONS', url: '*', headers: [] })).to.include.members([
      '--request-target',
      '*',
    ]);
    expect(await curlOf({ url: '/a/../b', headers: [] })).to.include('--path-as-is');
  });
});

describe('panel request: what the host left on the request', () => {
  async function sessionOf(live: object) {
    const { data, html, profile } = await record({ request: { live } });
    return { sessionAndUser: data.sessionAndUser, $: load(html), text: JSON.stringify(profile) };
  }

  it('shows session and user, masked, without what a password is checked by', async () => {
    class Session {
      cookie = { path: '/account-settings', originalMaxAge: 60_000, httpOnly: true };
      passport = { user: 7 };
      csrfToken = 'c0ffee-c0ffee';
      save(): void {
        throw new Error('saved');
      }
    }
    const { sessionAndUser, $, text } = await sessionOf({
      session: new Session(),
      user: {
        id: 7,
        email: 'ada@shop.example',
        passwordHash: '$2b$10$abc',
        hash: 'deadbeef01',
        salt: 'a1b2c3d4',
      },
    });
    expect(sessionAndUser?.session).to.deep.equal({ passport: { user: 7 }, csrfToken: '[masked 1, string]' });
    expect(sessionAndUser?.user).to.include({
      id: 7,
      email: 'ada@shop.example',
      hash: '[masked]',
      salt: '[masked]',
    });
    expect(text).to.not.match(/c0ffee|deadbeef|a1b2c3d4|\$2b\$10/);
    expect($('#session th').first().text()).to.equal('session.passport');
    expect($('#session').text()).to.contain('masked: name');
    expect($('.tabs a[href="#session"]').length).to.equal(1);
  });

  it('never reads an accessor, which could start or save a session', async () => {
    let reads = 0;
    const live = Object.defineProperty({}, 'session', {
      enumerable: true,
      get: () => ++reads,
    });
    const { sessionAndUser, $ } = await sessionOf(live);
    expect(sessionAndUser).to.deep.equal({ unread: ['session'] });
    expect(reads).to.equal(0);
    expect($('#session').text()).to.contain('behind an accessor');
  });

  it('shows nothing where the host has none', async () => {
    const { sessionAndUser, $ } = await sessionOf({ session: undefined, user: false });
    expect(sessionAndUser).to.equal(null);
    expect($('#session').length).to.equal(0);
  });
});

describe('panel request: bodies as they are read', () => {
  it('indents JSON that no parser read, and decodes a form', async () => {
    const json = await record({
      method: 'POST',
      more: withBody({ text: '{"a":[1]}', contentType: 'application/json' }),
    });
    expect(load(json.html)('#parsed-v > span').length).to.equal(5);
    const form = await record({
      method: 'POST',
      more: withBody({ text: 'a=1+2&b=%C3%A9', contentType: 'application/x-www-form-urlencoded' }),
    });
    expect(load(form.html)('#fields tr').text().replace(/\s+/g, ' ')).to.equal('a1 2bé');
  });

  it('shows all of a long body', async () => {
    const text = JSON.stringify(Array.from({ length: 1500 }, (_value, index) => index));
    const given = { method: 'POST', more: withBody({ text, contentType: 'application/json' }) };
    const { html } = await record(given);
    expect(load(html)('#parsed-v').text()).to.contain('1499');
  });

  it('writes it once in Markdown, in the command that sends it again', async () => {
    const { profile } = await record({
      method: 'POST',
      url: '/a',
      headers: ['Host', 'shop', 'X-Forwarded-For', '10.0.0.9'],
      more: withBody({ text: 'as it came', contentType: 'text/plain' }),
    });
    const markdown = rowsMarkdown(panel.rows!(profile.panels.request?.data, { profile, amendments: {} }));
    expect(markdown.split('as it came')).to.have.lengthOf(2);
    expect(markdown).to.match(/--data-raw 'as it came'/);
    expect(markdown).to.match(/X-Forwarded-For.*10\.0\.0\.9/);
  });

  it('writes the request as it came over the wire, each header on one line', async () => {
    const { html } = await record({
      method: 'POST',
      url: '/a?b=1',
      headers: ['Host', 'shop', 'X-Odd', 'a\nX-Evil: 1'],
      more: withBody({ text: '{"a":1}', contentType: 'application/json' }),
    });
    expect(load(html)('#http pre').text().split('\n')).to.deep.equal([
      'POST /a?b=1 HTTP/1.1',
      'Host: shop',
      'X-Odd: a X-Evil: 1',
      '',
      '{"a":1}',
    ]);
  });
});
