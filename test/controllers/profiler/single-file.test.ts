/** A profile as one HTML file, and what happens to a file that is opened again: who may, what is refused, what is kept. */
import { type CheerioAPI, load } from 'cheerio';
import { expect } from 'chai';
import { createHash } from 'node:crypto';
import { createDeferredStorage } from '../../../app/profiler/deferred-storage.ts';
import { type RecordingHost, useRecordingHosts } from '../../support/recording-host.ts';

const HOSTILE = '</script><script>alert(1)</script><img src=x onerror=alert(1)>"\'';

describe('a profile as one file', () => {
  const start = useRecordingHosts();

  async function get({ url }: RecordingHost, path: string): Promise<string> {
    return (await fetch(`${url}/_profiler/${path}`)).text();
  }

  async function upload(
    host: RecordingHost,
    content: string,
    { csrf, headers = { origin: host.url } }: { csrf?: string; headers?: Record<string, string> } = {},
  ): Promise<Response> {
    const body = new FormData();
    const signed = load(await get(host, ''))('form[data-drop] input[name=csrf]').attr('value') ?? '';
    body.append('csrf', csrf ?? signed);
    body.append('file', new File([content], 'profile.html'));
    return fetch(`${host.url}/_profiler/-/import`, { method: 'POST', redirect: 'manual', headers, body });
  }

  async function problemOf(response: Response): Promise<string> {
    expect(response.status).to.equal(400);
    const $ = load(await response.text());
    expect($('h1').text()).to.equal('File not opened');
    return $('main p').first().text();
  }

  async function tokensIn({ profiler }: RecordingHost): Promise<string[]> {
    return (await profiler.profiles.find({ limit: 100, offset: 0 })).rows.map(({ token }) => token);
  }

  function panelsIn($: CheerioAPI): string[] {
    return $('main > section')
      .toArray()
      .map((section) => $(section).attr('id') ?? '');
  }

  it('does not say where the application lies', async () => {
    const host = await start({ editor: 'vscode://file/%f:%l:%c', root: process.cwd() });
    const token = await host.send('/broken');
    expect(await get(host, `${token}?panel=exception`)).to.include('vscode:');
    expect(await get(host, `${token}.html`)).to.not.match(/vscode:|data-editor/);
  });

  it('shows no source of this machine, which its places do not come from', async () => {
    const host = await start();
    const token = await host.send('/broken');
    const sourceIn = async (of: RecordingHost): Promise<CheerioAPI> => {
      const $ = load(await get(of, `${token}?panel=exception`));
      return load(await (await fetch(of.url + $('main a[data-source]').first().attr('href')!)).text());
    };
    expect((await sourceIn(host))('#source pre')).to.have.length(1);
    const other = await start();
    expect((await upload(other, await get(host, `${token}.html`))).status).to.equal(303);
    const $ = await sourceIn(other);
    expect($('#source pre')).to.have.length(0);
    expect($('#source .empty').text()).to.include('on another machine');
  });

  it('has all panels, its style, and nothing that asks a server', async () => {
    const host = await start();
    const token = await host.send('/broken?q=1', { headers: { authorization: 'Bearer abcdefghijklmnop' } });
    const response = await fetch(`${host.url}/_profiler/${token}.html`);
    expect(response.headers.get('content-disposition')).to.equal(`attachment; filename="${token}.html"`);
    const html = await response.text();
    const $ = load(html);
    expect(panelsIn($)).to.include.members(['overview', 'exception', 'request', 'timeline', 'configuration']);
    const hash = createHash('sha256').update($('style').text()).digest('base64');
    expect($('meta[http-equiv]').attr('content')).to.equal(
      `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'`,
    );
    expect($('link, img, iframe, script:not([type="application/jsonl"])')).to.have.length(0);
    expect(html).to.not.include('abcdefghijklmnop');
    // Links lead into the file, to the server that recorded it, or nowhere.
    const ids = new Set($('[id]').map((_i, one) => $(one).attr('id')).toArray()); // prettier-ignore
    expect(ids.size).to.equal($('[id]').length);
    for (const link of $('[href]').toArray()) {
      const href = $(link).attr('href')!;
      if (href.startsWith('#')) expect(ids.has(href.slice(1)), href).to.equal(true);
      else expect(href).to.match(new RegExp(`^(?:${host.url}/_profiler/|https://)`));
    }
    expect($('.panels a[href="#request"]')).to.have.length(1);
  });

  it('is there before the storage is, with the values that it shares', async () => {
    const from = await start({ storage: createDeferredStorage() });
    const token = await from.send('/broken');
    for (const ending of ['', '.html', '.jsonl', '.json', '.md', '.har', '.otlp.json']) {
      const { status } = await fetch(`${from.url}/_profiler/${token}${ending}`);
      expect(status, ending).to.equal(200);
    }
    const to = await start();
    expect((await upload(to, await get(from, `${token}.jsonl`))).status).to.equal(303);
    const [own, found] = await Promise.all([from, to].map(({ profiler }) => profiler.profiles.read(token)));
    expect(found?.profile.panels.configuration).to.deep.equal(own?.profile.panels.configuration);
  });

  it('opens again where it is uploaded, as HTML, as JSON and as lines of JSON, marked as imported', async () => {
    const from = await start();
    const token = await from.send('/broken?q=%C3%A4');
    for (const ending of ['html', 'jsonl', 'json']) {
      const to = await start();
      const response = await upload(to, await get(from, `${token}.${ending}`));
      expect([response.status, response.headers.get('location')]).to.deep.equal([
        303,
        `/_profiler/${token}?panel=overview`,
      ]);
      const $ = load(await get(to, `${token}?panel=overview`));
      expect($('.subject h1').text()).to.include('/broken?q=ä');
      expect($('.facts dt').text()).to.include('imported');
      const found = (await to.profiler.profiles.read(token))!;
      expect(found.amendments).to.include({ pin: true }).and.have.property('imported').that.is.a('number');
      // What it has is what was recorded, shared values included.
      const own = (await from.profiler.profiles.read(token))!;
      expect(found.profile.panels.configuration).to.deep.equal(own.profile.panels.configuration);
      expect(found.profile.panels.exception).to.deep.equal(own.profile.panels.exception);
      expect(found.profile.findings).to.deep.equal(own.profile.findings);
      // The file of an imported profile opens again, too.
      const third = await start();
      expect((await upload(third, await get(to, `${token}.html`))).status).to.equal(303);
    }
  });

  it('shows hostile content as text, in the file and on the page of an imported one', async () => {
    const from = await start();
    const token = await from.send('/fine', { headers: { 'x-note': HOSTILE, 'user-agent': HOSTILE } });
    const file = await get(from, `${token}.html`);
    const check = (html: string): void => {
      const $ = load(html);
      expect($('img, [onerror]')).to.have.length(0);
      expect($('script').text()).to.not.include('alert(1)</script>');
      expect($('body script:not([type="application/jsonl"])')).to.have.length(0);
      expect($('main').text()).to.include(HOSTILE);
    };
    check(file);
    // Written by hand, with markup where no request could have put any.
    const lines = (await get(from, `${token}.jsonl`)).trim().split('\n');
    const profile = JSON.parse(lines.pop()!) as { document: Record<string, unknown>; amendments: object };
    Object.assign(profile.document, {
      method: HOSTILE,
      url: HOSTILE,
      process: HOSTILE,
      release: HOSTILE,
      route: HOSTILE,
    });
    profile.document.error = { name: HOSTILE, message: HOSTILE };
    profile.document.findings = [
      {
        label: HOSTILE,
        severity: 'bad',
        sentence: HOSTILE,
        place: HOSTILE,
        panel: HOSTILE,
        anchor: HOSTILE,
        rule: 'n-plus-one',
      },
    ];
    profile.amendments = { imported: HOSTILE, replay: { of: HOSTILE, without: [HOSTILE] }, timing: HOSTILE };
    const to = await start();
    expect((await upload(to, [...lines, JSON.stringify(profile)].join('\n'))).status).to.equal(303);
    for (const panel of ['overview', 'request', 'timeline', 'logs', 'routing', 'configuration', 'runtime']) {
      const $ = load(await get(to, `${token}?panel=${panel}`));
      expect($('.subject').length, panel).to.equal(1);
      expect($('img, [onerror], body script'), panel).to.have.length(0);
    }
    check(await get(to, `${token}.html`));
    for (const path of ['', 'search?q=fine'])
      expect(load(await get(to, path))('img, [onerror], body script')).to.have.length(0);
  });

  it('refuses what is no profile with the reason, and keeps what it has', async () => {
    const host = await start();
    const token = await host.send('/fine');
    const lines = await get(host, `${token}.jsonl`);
    const document = (change: (document: Record<string, unknown>) => void, other = 'abcdef'): string => {
      const all = lines.trim().split('\n');
      const profile = JSON.parse(all.pop()!) as { document: Record<string, unknown> };
      profile.document.token = other;
      change(profile.document);
      return [...all, JSON.stringify(profile)].join('\n');
    };
    const refused: [string, string][] = [
      ['', 'No file was chosen'],
      ['<!doctype html><title>Not ours</title>', 'Line 1: it is not JSON'],
      ['{"profile":{"version":99}}', 'its profile has version 99'],
      ['{"a":1}', 'Line 1: it is no exported profile'],
      [JSON.stringify({ part: { id: 'x', text: '{}' } }), 'its shared part was changed'],
      [lines.slice(0, lines.lastIndexOf('{"part"') + 20), 'it is not JSON'],
      [document((of) => (of.token = '../../x')), 'has no valid "token"'],
      [document((of) => (of.masked = 5)), 'the profile can’t be shown'],
      [document((of) => (of.panels = JSON.parse('{"__proto__":{}}') as object)), 'has no valid "panels"'],
      [
        document(() => undefined)
          .split('\n')
          .slice(0, 1)
          .join(''),
        'It has no profile.',
      ],
    ];
    for (const [content, problem] of refused)
      expect(await problemOf(await upload(host, content)), content.slice(0, 80)).to.include(problem);
    expect(await tokensIn(host)).to.deep.equal([token]);
  });

  it('never replaces a profile: the same one stays, another one with its token is refused', async () => {
    const host = await start();
    const token = await host.send('/fine');
    const before = await get(host, `${token}.jsonl`);
    const edited = before.replaceAll('/fine', '/edited');
    expect((await upload(host, edited)).headers.get('location')).to.equal(
      `/_profiler/${token}?panel=overview`,
    );
    expect(await get(host, `${token}.jsonl`)).to.equal(before);
    const other = before.replace(/"startedAt":\d+/g, '"startedAt":1700000000000');
    expect(await problemOf(await upload(host, other))).to.equal(
      `Another request has the token ${token} here, and stays as it is.`,
    );
    expect(await get(host, `${token}.jsonl`)).to.equal(before);
  });

  it('is taken from our own signed form only, behind the guard, and up to 16 MiB', async () => {
    const host = await start();
    const other = await start();
    const token = await other.send('/fine');
    const file = await get(other, `${token}.html`);
    expect((await upload(host, file, { csrf: 'x' })).status).to.equal(403);
    expect((await upload(host, file, { headers: { origin: 'https://evil.example' } })).status).to.equal(403);
    expect((await fetch(`${host.url}/_profiler/-/import`)).status).to.equal(405);
    const large = await upload(host, 'x'.repeat(16 * 1024 * 1024));
    expect(large.status).to.equal(413);
    for (const [body, type, status] of [
      ['csrf=x', 'application/x-www-form-urlencoded', 400],
      ['x', 'multipart/form-data', 400],
      ['--x\r\nnothing', 'multipart/form-data; boundary=x', 403],
      ['--x\r\nno name\r\n\r\n\r\n--x--', 'multipart/form-data; boundary="x"', 403],
    ] as const) {
      const headers = { origin: host.url, 'content-type': type };
      const response = await fetch(`${host.url}/_profiler/-/import`, { method: 'POST', headers, body });
      expect(response.status, body).to.equal(status);
    }
    expect(await tokensIn(host)).to.deep.equal([]);
    const guarded = await start({ password: 'correct horse battery' });
    expect((await upload(guarded, file)).status).to.equal(401);
    expect((await fetch(`${guarded.url}/_profiler/${token}.html`)).status).to.equal(401);
  });

  it('lets a person send an imported GET again only after asking', async () => {
    const from = await start();
    const token = await from.send('/fine');
    const to = await start();
    await upload(to, await get(from, `${token}.html`));
    const csrf = load(await get(to, token))('form[action$=replay] input[name=csrf]').attr('value')!;
    const response = await fetch(`${to.url}/_profiler/-/replay`, {
      method: 'POST',
      headers: { origin: to.url },
      body: new URLSearchParams({ token, csrf }),
    });
    expect(load(await response.text())('main').text()).to.include('This request was imported');
    expect(await tokensIn(to)).to.deep.equal([token]);
  });
});
