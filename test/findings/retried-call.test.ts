import { expect } from 'chai';
import { withFindingsApp } from '../support/findings-app.ts';
import { withUpstream } from '../support/upstream.ts';
import { draftsOf } from '../support/find-by-rule.ts';

describe('finding retried-call', () => {
  let asked = 0;
  const upstream = withUpstream((req, res) => {
    asked++;
    res.statusCode =
      req.url === '/gone'
        ? 404
        : req.url === '/down' || (/^\/(?:flaky|quick)$/.test(req.url ?? '') && asked < 3)
          ? 503
          : 200;
    setTimeout(() => res.end('{}'), req.url === '/flaky' ? 60 : 5);
  });
  const ask = withFindingsApp((app) => {
    app.get('/try/:path', async (req, res) => {
      asked = 0;
      for (let tries = 0; tries < 3; tries++) {
        const answer = await fetch(`${upstream()}/${req.params.path}`);
        await answer.text();
        if (answer.ok) break;
      }
      res.send('done');
    });
    app.get('/at-once', async (_req, res) => {
      await Promise.all([1, 2].map(async () => (await fetch(`${upstream()}/down`)).text()));
      res.send('done');
    });
  });

  it('lists the attempts, their outcomes and whether the last one succeeded', async () => {
    const [flaky] = (await ask('/try/flaky')).of('retried-call');
    expect(flaky).to.include({ label: 'retried', severity: 'warn', panel: 'http_client', anchor: 'c1' });
    expect(flaky?.sentence).to.match(
      /^GET 127\.0\.0\.1:\d+\/flaky needed 3 attempts \(503, 503, 200\): the failed ones took \d/,
    );
    const [down] = (await ask('/try/down')).of('retried-call');
    expect(down?.sentence).to.match(
      /failed after 3 attempts \(503, 503, 503\) in \d.*, but this request still answered 200$/,
    );
  });

  it('says that repeating does not change a refusal, and what may have been carried out twice', async () => {
    const [gone] = (await ask('/try/gone')).of('retried-call');
    expect(gone?.sentence).to.match(/failed after 3 attempts \(404, 404, 404\) in .*; repeating does not change a 404$/); // prettier-ignore
    const call = { method: 'POST', url: 'http://a.test/pay', caller: 'pay.ts:1', durationMs: 10 };
    interface Attempt {
      name?: string;
      wait?: boolean;
      keys?: [string, string];
      status?: number | null;
      error?: string;
      method?: string;
      url?: string;
      bodies?: [string, string];
      last?: number;
    }
    const paid = ({
      name = 'Idempotency-Key',
      wait = false,
      keys,
      status = null,
      error = 'timeout',
      bodies,
      last = 200,
      ...given
    }: Attempt = {}) => {
      const headers = (at: 0 | 1) => (keys === undefined ? [] : [{ name, value: keys[at] }]);
      const body = (at: 0 | 1) => (bodies === undefined ? {} : { requestBody: { text: bodies[at] } });
      const [first, second] = [
        {
          requestHeaders: headers(0),
          ...body(0),
          responseHeaders: wait ? [{ name: 'Retry-After', value: '0' }] : [],
        },
        { requestHeaders: headers(1), ...body(1) },
      ];
      const calls = [
        { ...call, ...given, startMs: 0, status, error: status === null ? error : null, ...first },
        { ...call, ...given, startMs: 60, status: last, error: null, ...second },
      ];
      const kept = { http_client: { calls } };
      const [pay] = draftsOf('retried-call', kept, { durationMs: 100, status: 200 });
      return pay?.label === 'sent twice' ? pay.sentence : '';
    };
    const twice =
      'POST a.test/pay may have been carried out twice: the service may have acted on an attempt that got no response, and it was sent again without an idempotency key (failed, 200)';
    expect(paid()).to.equal(twice);
    expect(paid({ keys: ['a1', 'b2'] })).to.equal(
      twice.replace('without an idempotency key', 'with another Idempotency-Key (a1, then b2)'),
    );
    expect(paid({ keys: ['a1', 'a1'] })).to.equal('');
    const uuid = 'e946a5a5-004d-4572-a882-10c3ddac6baf';
    expect(paid({ name: 'x-scan-id', keys: [uuid, uuid] })).to.equal('');
    for (const name of ['x-tenant-id', 'x-merchant-id', 'x-subscription-key', 'x-app-id'])
      expect(paid({ name, keys: [uuid, uuid] }), name).to.equal(twice);
    expect(paid({ name: 'x-scan-id', keys: ['7', '7'] })).to.equal(twice);
    expect(paid({ status: 503, wait: true })).to.equal('');
    expect(paid({ error: 'connect ECONNREFUSED 127.0.0.1:1' })).to.equal('');
    expect(paid({ status: 504, bodies: ['{"cents":1}', '{"cents":1}'] })).to.contain(
      'on an attempt that got 504',
    );
    expect(paid({ status: 504, bodies: ['{"cents":1}', '{"cents":2}'] })).to.equal('');
    const keyed = '{"cents":1,"idempotencyKey":"a1"}';
    expect(paid({ status: 504, bodies: [keyed, keyed] })).to.equal('');
    expect(paid({ status: 504, method: 'PUT' })).to.equal('');
    expect(paid({ status: 504, url: 'http://a.test/graphql' })).to.equal('');
    expect(paid({ status: 429 })).to.equal('');
    expect(paid({ status: 503, last: 503 })).to.match(
      /^POST a\.test\/pay failed after 2 attempts .*; it may have been carried out twice/,
    );
  });

  it('says that it was carried out twice if a later call shows both', () => {
    const startedAt = Date.parse('2026-11-30T21:42:20.000Z');
    const charge = (id: string, second: number, cents = 100) => ({
      id,
      cents,
      at: `2026-11-30T21:42:2${second}.500Z`,
    });
    const found = (charges: object[]) => {
      const post = { method: 'POST', url: 'http://a.test/charges', caller: 'pay.ts:1', requestBody: { text: '{"cents":100}' } }; // prettier-ignore
      const calls = [
        { ...post, startMs: 100.2, durationMs: 600, status: null, error: 'timeout of 600ms exceeded' },
        { ...post, startMs: 750, durationMs: 50, status: 201, error: null, responseBody: { text: JSON.stringify(charge('c3', 0)) } }, // prettier-ignore
        { method: 'GET', url: 'http://a.test/charges', caller: 'pay.ts:9', startMs: 810, durationMs: 5, status: 200, error: null, responseBody: { text: JSON.stringify(charges) } }, // prettier-ignore
      ];
      const head = { startedAt, durationMs: 900, status: 201 };
      const [draft] = draftsOf('retried-call', { http_client: { calls } }, head);
      return draft?.sentence ?? '';
    };
    expect(found([charge('c1', 0, 20), charge('c2', 0), charge('c3', 0)])).to.equal(
      'POST a.test/charges was carried out 2 times: GET a.test/charges then had c2 and c3, as it was sent again without an idempotency key after an attempt that got no response (failed, 201)',
    );
    const first = { ...charge('c2', 0), at: '2026-11-30T21:42:20.100Z' };
    expect(found([first, charge('c3', 0)]), 'in the millisecond of its call').to.contain('was carried out 2');
    expect(found([charge('c2', 1), charge('c3', 0)]), 'another time').to.contain('may have been');
    expect(found([charge('c2', 0, 20), charge('c3', 0)]), 'another amount').to.contain('may have been');
    expect(found([charge('c2', 0)]), 'without its own').to.contain('may have been');
  });

  it('tells the pauses apart, and only mentions a GET that succeeded after Retry-After', () => {
    const call = { method: 'GET', url: 'http://a.test/times', caller: 'a.ts:1', durationMs: 2, error: null };
    const found = (name: string, method = 'GET', from = 0, requestHeaders: readonly object[] = []) => {
      const refused = { status: 503, requestHeaders, responseHeaders: [{ name, value: '1' }] };
      const good = { status: 200, requestHeaders, responseHeaders: [] };
      const calls = [
        { ...call, ...refused, method, startMs: 0 },
        { ...call, ...refused, method, startMs: 1002 },
        { ...call, ...good, method, startMs: 2004 },
      ];
      const kept = { http_client: { calls: calls.slice(from) } };
      return draftsOf('retried-call', kept, { durationMs: 2010, status: 200 })[0];
    };
    const asked = found('Retry-After');
    expect(asked?.sentence).to.equal(
      'GET a.test/times needed 3 attempts (503, 503, 200): the failed ones took 4.0 ms, 2 pauses 2.00 s (100 % of the request): 1.00 s, 1.00 s, each after a Retry-After',
    );
    expect(found('Retry-After', 'GET', 1)?.sentence, 'one pause').to.equal(
      'GET a.test/times needed 2 attempts (503, 200): the failed one took 2.0 ms, the pause 1.00 s (50 % of the request), after a Retry-After',
    );
    expect(asked?.fix).not.to.contain('Idempotency-Key');
    const severities = [asked, found('Server'), found('Retry-After', 'POST')].map((one) => one?.severity);
    expect(severities).to.deep.equal(['info', 'warn', 'info']);
    const headers = [{ name: 'Idempotency-Key', value: 'a1' }];
    expect(found('Retry-After', 'POST')?.fix, 'the text of the rule').to.equal(undefined);
    expect(found('Retry-After', 'POST', 0, headers)?.fix, 'it has a key').not.to.contain('Idempotency-Key');
  });

  it('ignores a single attempt, calls that failed in parallel, and retries that cost little', async () => {
    for (const path of ['/try/fine', '/at-once'])
      expect((await ask(path)).of('retried-call'), path).to.deep.equal([]);
    await ask.when('/try/quick', ({ of }) => of('retried-call').length === 0);
  });
});

describe('finding method-lost', () => {
  const upstream = withUpstream((req, res) => {
    const [, kind, rest] = /^\/(\w+)(\/?)$/.exec(req.url ?? '') ?? [];
    res.statusCode = rest === '' ? (kind === 'moved' ? 301 : 302) : kind === 'form' ? 200 : 422;
    if (rest === '') res.setHeader('location', `/${kind}/`);
    res.setHeader('content-type', 'application/json');
    res.end('{"error":"day: this field is required"}');
  });
  const ask = withFindingsApp((app) => {
    app.get('/post/:to', async (req, res) => {
      await (
        await fetch(`${upstream()}/${req.params.to}`, { method: 'POST', body: '{"grams":2400}' })
      ).text();
      res.send('done');
    });
    app.get('/throws', async () => {
      const answer = await fetch(`${upstream()}/moved`, { method: 'POST', body: '{"grams":2400}' });
      const { error } = (await answer.json()) as { error: string };
      throw new Error(error);
    });
    app.get('/get/:to', async (req, res) => {
      await (await fetch(`${upstream()}/${req.params.to}`)).text();
      res.send('done');
    });
  });

  it('names the redirect that made a GET of a POST', async () => {
    const [finding] = (await ask('/post/moved')).of('method-lost');
    expect(finding).to.include({ severity: 'bad', panel: 'http_client', anchor: 'c1' });
    expect(finding?.sentence).to.match(
      /^POST 127\.0\.0\.1:\d+\/moved was redirected \(301\), and GET 127\.0\.0\.1:\d+\/moved\/ followed without its body: 422$/,
    );
    expect(finding?.place).to.match(/retried-call\.test\.ts:\d+$/);
  });

  it('takes the place of the error that came of it', async () => {
    const { findings } = await ask('/throws');
    expect(findings.map(({ label }) => label))
      .to.include('method lost')
      .and.not.include('exception');
  });

  it('ignores a page behind a form, and what was a GET before', async () => {
    expect((await ask('/post/form')).of('method-lost')).to.deep.equal([]);
    expect((await ask('/post/failing')).of('method-lost')).to.have.length(1);
    expect((await ask('/get/moved')).of('method-lost')).to.deep.equal([]);
  });
});
