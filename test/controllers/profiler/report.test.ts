/** What a page's browser reports: who may send it, what is taken, and that it is put beside the profile only. */
import { expect } from 'chai';
import express from 'express';
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { createProfiler } from '../../../app/index.ts';
import { browserPanel } from '../../../app/panels/browser/index.ts';
import type { HindsightError } from '../../../app/errors.ts';
import { close, listen } from '../../support/listen.ts';
import { servePages, usePagesEach } from '../../support/page-client.ts';
import { createPageFixture, ORIGIN, type PageFixture } from '../../support/page-fixture.ts';
import { samplePanels, sampleRule } from '../../support/page-samples.ts';
import type { ProfileIndex } from '../../../app/profiler/store/profile-index.ts';

const FRONT_END = 'http://localhost:5173';
const SAME = { 'sec-fetch-site': 'same-origin' };
const TIMING = {
  navigation: 'navigate',
  redirects: 1,
  requestStart: 12.4,
  ttfb: 61.25,
  load: 214.8,
  cls: 0.01234567,
  lcpKind: 'image',
  longTasks: [{ start: 70, duration: 60.5 }],
  moreLongTasks: 3,
};

describe('a report of the browser', () => {
  let fixture: PageFixture;
  const server = usePagesEach(
    () =>
      (fixture = createPageFixture([...samplePanels(), browserPanel], {
        rules: [sampleRule],
        frontEnds: [FRONT_END],
      })),
  );
  let token: string;
  beforeEach(async () => {
    token = (await fixture.record()).token;
  });

  let lastError: Pick<HindsightError, 'code' | 'message'>;
  async function post(body: unknown, headers: Record<string, string> = SAME): Promise<number> {
    const answer = await fetch(`${server.address}/_profiler/-/report`, {
      method: 'POST',
      headers: { 'content-type': 'text/plain', ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
    const text = await answer.text();
    if (text !== '') lastError = (JSON.parse(text) as { error: typeof lastError }).error;
    expect(answer.headers.get('access-control-allow-origin')).to.equal(null);
    return answer.status;
  }
  const stored = async (): Promise<unknown> => (await fixture.profiles.read(token))?.amendments.timing;

  it('is put beside the profile, and replaced where it comes again', async () => {
    const document = async (): Promise<string> =>
      JSON.stringify((await fixture.profiles.read(token))?.profile.panels);
    const before = await document();
    expect(await post({ token, timing: TIMING })).to.equal(204);
    expect(await stored()).to.deep.equal({ ...TIMING, cls: 0.0123 });
    expect(await post({ token, timing: { load: 300 } })).to.equal(204);
    expect(await stored()).to.deep.equal({ load: 300 });
    expect(await document()).to.equal(before);
  });

  for (const [title, headers, expected] of [
    ['a page of ours', SAME, 204],
    ['a page of ours where the browser says only its origin', { origin: ORIGIN }, 204],
    ['JSON', { ...SAME, 'content-type': 'application/json; charset=utf-8' }, 400],
    ['a front end that was set up', { 'sec-fetch-site': 'same-site', origin: FRONT_END }, 204],
    ['another site', { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }, 403],
    ['another port of the same site', { 'sec-fetch-site': 'same-site', origin: 'http://localhost:9' }, 403],
    ['who says nothing', {}, 403],
    ['a hidden origin', { origin: 'null' }, 403],
    ['a form', { ...SAME, 'content-type': 'application/x-www-form-urlencoded' }, 400],
  ] as const)
    it(`of ${title} is answered by ${expected}`, async () => {
      expect(await post({ token, timing: TIMING }, headers)).to.equal(expected);
      expect((await stored()) !== undefined).to.equal(expected === 204);
      if (expected === 403) expect(lastError.code).to.equal('CROSS_SITE');
    });

  for (const [title, body] of [
    ['no JSON', '{'],
    ['null', null],
    ['a list', []],
    ['no token', { timing: {} }],
    ['a token that is none', { token: '../abc', timing: {} }],
    ['a token in capitals', { token: 'ABCDEF', timing: {} }],
    ['no timing', { token: 'TOKEN' }],
    ['timing that is a list', { token: 'TOKEN', timing: [] }],
    ['a text', { token: 'TOKEN', timing: { ttfb: '12' } }],
    ['less than nothing', { token: 'TOKEN', timing: { ttfb: -1 } }],
    ['more than an hour', { token: 'TOKEN', timing: { load: 3_600_001 } }],
    ['what is no finite number', '{"token":"TOKEN","timing":{"load":1e999}}'],
    ['an unknown name', { token: 'TOKEN', timing: { secret: 1 } }],
    ['the name of a prototype', '{"token":"TOKEN","timing":{"__proto__":{"a":1}}}'],
    ['a name that every object has', { token: 'TOKEN', timing: { toString: 1 } }],
    ['an unknown kind of navigation', { token: 'TOKEN', timing: { navigation: 'teleport' } }],
    ['a kind of paint that is none', { token: 'TOKEN', timing: { lcpKind: '<img src=x>' } }],
    [
      'too many tasks',
      {
        token: 'TOKEN',
        timing: {
          longTasks: {
            count: 51,
            totalMs: 1,
            longest: Array.from({ length: 51 }, () => ({ startMs: 1, ms: 1 })),
          },
        },
      },
    ],
    ['half a task', { token: 'TOKEN', timing: { longTasks: [{ start: 1 }] } }],
    [
      'more of a task',
      {
        token: 'TOKEN',
        timing: { longTasks: [{ start: 1, duration: 1, url: 'x' }] },
      },
    ],
    ['half a count', { token: 'TOKEN', timing: { moreLongTasks: 1.5 } }],
  ] as const)
    /* prettier-ignore */
    it(`is refused with a sentence where it has ${title}`, async () => {
      const text = typeof body === 'string' ? body : JSON.stringify(body);
      expect(await post(text.replace('TOKEN', token))).to.equal(400);
      expect(lastError.message).to.match(/^[^<>]*\.$/).and.not.to.contain('secret');
      expect(await stored()).to.equal(undefined);
    });

  it('is refused where it is large, or names nothing that is stored', async () => {
    expect(await post(`{"token":"${token}","timing":{}}${' '.repeat(8200)}`)).to.equal(413);
    expect(lastError.message).to.contain('8 KiB');
    expect(await post({ token: 'fffff0', timing: {} })).to.equal(404);
  });

  it('is taken by POST only', async () => {
    for (const method of ['GET', 'HEAD', 'PUT', 'DELETE']) {
      const answer = await fetch(`${server.address}/_profiler/-/report`, { method, headers: SAME });
      expect([answer.status, answer.headers.get('allow')]).to.deep.equal([405, 'POST']);
    }
  });

  it('is refused where a host’s parser has left what can’t be written as JSON', async () => {
    let deep: unknown = [];
    for (let i = 0; i < 50_000; i++) deep = [deep];
    // Node.js 26 writes it at any depth, and then it is too large.
    const refused = [
      [deep, [400, 413]],
      [1n, [400]],
      [() => 0, [400]],
    ] as const;
    for (const [body, statuses] of refused) {
      const parsed = await servePages((req, res, next) => {
        fixture.pages(Object.assign(req, { body }), res, next);
      });
      const answer = await fetch(`${parsed.address}/_profiler/-/report`, {
        method: 'POST',
        headers: { ...SAME, 'content-type': 'application/json' },
      });
      await parsed.close();
      expect(answer.status).to.be.oneOf([...statuses]);
    }
  });

  it('is no fault of the service where it breaks off, and nothing to warn of', async () => {
    const warnings: string[] = [];
    const profiler = createProfiler({ warn: (sentence) => warnings.push(sentence) });
    const app = express().use(profiler.watch, profiler.pages, profiler.errors);
    const { server: host, port } = await listen(app);
    // What answers is loaded with the first question.
    await (await fetch(`http://127.0.0.1:${port}/_profiler/toolbar.js`)).text();
    const begin = `POST /_profiler/-/report HTTP/1.1\r\nhost: a.test\r\nsec-fetch-site: same-origin\r\ncontent-type: text/plain\r\n`;
    const socket = connect(port, '127.0.0.1').on('error', () => undefined);
    socket.write(`${begin}content-length: 500\r\n\r\n{"token`);
    await once(host, 'request');
    socket.resetAndDestroy();
    await sleep(60);
    const { rows } = await profiler.profiles.find({ kinds: ['profiler'], limit: 5, offset: 0 });
    await close(host);
    await profiler.close(0);
    expect([rows.filter(({ method }) => method === 'POST'), warnings]).to.deep.equal([[], []]);
  });

  it('is taken of what a host’s parser has left of the body', async () => {
    for (const body of [{ token, timing: TIMING }, JSON.stringify({ token, timing: TIMING })]) {
      const parsed = await servePages((req, res, next) => {
        fixture.pages(Object.assign(req, { body }), res, next);
      });
      const answer = await fetch(`${parsed.address}/_profiler/-/report`, {
        method: 'POST',
        headers: { ...SAME, 'content-type': 'text/plain' },
      });
      await parsed.close();
      expect(answer.status).to.equal(204);
    }
  });

  describe('of what failed', () => {
    const ERROR = {
      kind: 'error',
      agoMs: 5,
      name: 'TypeError',
      message: 'x is undefined',
      stack: 'at http://app.test/a.js:1:2',
    };
    const page = 'http://app.test/orders';
    const report = (...items: object[]): object => ({ token, page, items });
    const facts = async (): Promise<Record<string, unknown>[]> => {
      const data = (await fixture.profiles.read(token))?.profile.panels.browser?.data;
      return (data as { items: Record<string, unknown>[] } | null | undefined)?.items ?? [];
    };

    it('is put beside the profile, after what came before', async () => {
      expect(await post(report(ERROR))).to.equal(204);
      expect(await post(report({ ...ERROR, kind: 'console' }, { ...ERROR, kind: 'rejection' }))).to.equal(
        204,
      );
      expect((await facts()).map(({ kind }) => kind)).to.deep.equal(['error', 'console', 'rejection']);
    });

    it('adds to the findings, and to the marks of the list', async () => {
      const row = async (): Promise<ProfileIndex | undefined> =>
        (await fixture.profiles.find({ token, limit: 1, offset: 0 })).rows[0];
      expect((await row())?.marks.map(({ label }) => label)).not.to.include('browser error');
      await post(report(ERROR));
      expect((await row())?.marks.map(({ label }) => label)).to.include('browser error');
    });

    it('is masked', async () => {
      await post(
        report({ ...ERROR, message: 'login failed: password=hunter22, https://me:secret-word@a.test/' }),
      );
      expect(JSON.stringify(await fixture.profiles.read(token))).not.to.match(/hunter22|secret-word/);
    });

    it('reads a profile that many frames name once', async () => {
      await fixture.record({ url: '/big.js', responseHeaders: ['ETag', '"1"'] });
      const { profiles } = fixture;
      const read = profiles.read.bind(profiles);
      let reads = 0;
      Object.assign(profiles, { read: (of: string) => (reads++, read(of)) });
      const items = Array.from({ length: 20 }, () => ({
        ...ERROR,
        stack: 'f@http://app.test/big.js:1:2\n'.repeat(10),
      }));
      expect(await post(report(...items))).to.equal(204);
      expect(reads).to.be.lessThan(10);
      expect((await facts()).map(({ frames }) => (frames as object[]).length)).to.deep.equal(
        items.map(() => 10),
      );
    });

    it('takes no time over a stack that is made to be slow', async () => {
      const stack = `${' '.repeat(290)}${'@http:///'.repeat(290)}:`;
      const before = process.cpuUsage();
      expect(await post(report({ ...ERROR, stack }, { ...ERROR, stack }))).to.equal(204);
      expect(process.cpuUsage(before).user / 1000).to.be.lessThan(250);
      expect((await facts()).map(({ frames }) => frames)).to.deep.equal([[], []]);
    });

    it('is stored up to 20 times, whoever sends more', async () => {
      const flood = Array.from({ length: 30 }, () => post(report(ERROR, ERROR, ERROR)));
      const statuses = await Promise.all(flood);
      expect(await facts()).to.have.length(20);
      expect(await post(report(ERROR))).to.equal(400);
      expect(new Set(statuses)).to.satisfy((all: Set<number>) =>
        [...all].every((one) => one === 204 || one === 400),
      );
    });

    it('needs a token that is stored; only a front end that was set up may have none', async () => {
      expect(await post({ ...report(ERROR), token: token === 'fffff0' ? 'fffff1' : 'fffff0' })).to.equal(404);
      expect(await post({ page, items: [ERROR] })).to.equal(400);
      const front = { 'sec-fetch-site': 'same-site', origin: FRONT_END };
      expect(await post({ page, items: [ERROR] }, front)).to.equal(400);
      expect(lastError.message).to.contain('no recorded request');
    });

    for (const [title, items] of [
      ['no list', {}],
      ['more than 20', Array.from({ length: 21 }, () => ERROR)],
      ['another kind', [{ ...ERROR, kind: 'crash' }]],
      ['no kind', [{ agoMs: 1 }]],
      ['an unknown name', [{ ...ERROR, html: '<b>' }]],
      ['the name of a prototype', '[{"kind":"error","agoMs":1,"__proto__":{"name":"x"}}]'],
      ['a long message', [{ ...ERROR, message: 'x'.repeat(1001) }]],
      ['a message that is no text', [{ ...ERROR, message: { a: 1 } }]],
      ['a time to come', [{ ...ERROR, agoMs: -5 }]],
      ['too many calls', [{ ...ERROR, calls: Array.from({ length: 4 }, () => ({ url: 'http://a.test/' })) }]],
      ['a call with a wrong token', [{ ...ERROR, calls: [{ url: 'http://a.test/', token: '../etc' }] }]],
    ] as const)
      it(`is refused, and nothing of it stored, where its items are ${title}`, async () => {
        const text = typeof items === 'string' ? items : JSON.stringify(items);
        expect(await post(`{"token":"${token}","page":"${page}","items":${text}}`)).to.equal(400);
        expect(await facts()).to.deep.equal([]);
      });

    it('is shown as text, whatever it holds', async () => {
      const hostile = '<img src=x onerror=alert(1)>"\'`</script>';
      expect(
        await post(
          report({
            ...ERROR,
            name: hostile,
            message: hostile,
            url: hostile,
            stack: `at ${hostile} (http://app.test/${encodeURI(hostile)}:1:1)`,
          }),
        ),
      ).to.equal(204);
      for (const path of ['?panel=browser', '?panel=overview', '.md', '.json', '.html']) {
        const text = await (await fetch(`${server.address}/_profiler/${token}${path}`)).text();
        if (path !== '.json' && path !== '.md') expect(text, path).not.to.contain('<img src=x');
      }
      expect((await facts())[0]?.message).to.equal(hostile);
    });
  });
});
