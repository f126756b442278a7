/** Requests that fail, sent again with the debugger attached: real servers, real replays, from pages and from an agent. */
import { load } from 'cheerio';
import { expect } from 'chai';
import ejs from 'ejs';
import { readFileSync } from 'node:fs';
import express from 'express';
import type { Server } from 'node:http';
import { close as closeDebugger, open } from 'node:inspector';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { createProfiler, type Profiler, type ProfilerOptions } from '../../app/index.ts';
import type { ExceptionData } from '../../app/panels/exception/data.ts';
import type { Profile } from '../../app/profiler/profile.ts';
import type { ThrownFrame } from '../../app/profiler/record/thrown.ts';
import { finalProfile } from '../support/final-profile.ts';
import { examplesOf } from '../support/masking-table.ts';
import { close, listen } from '../support/listen.ts';
import { withOptimizedCode } from '../support/optimized-code.ts';
import { eventually, until } from '../support/waiting.ts';

/** An error page takes longer to make than the rest of a request. */
const WITHOUT_PAGE = { headers: { accept: 'application/json' } };
const examples = examplesOf(readFileSync('docs/masking.md', 'utf8'), 'Masked values', 'Kind');
/** In one variable: more would be left out. */
const PLANTED = 18;
const CONFIGURED = 'configured-secret-4711';

interface Order {
  id: string;
  customer?: { name: string };
}

const rates: Record<string, { factor: number } | undefined> = { EUR: { factor: 1 } };

function nameOf(order: Order): string {
  return order.customer!.name;
}

function toMoney(reply: { amount?: { minor: number }; currency: string }): number {
  const { amount, currency } = reply;
  return amount!.minor * (rates[currency]?.factor ?? 1);
}

async function charge(cart: { id: string }): Promise<number> {
  const reply = await sleep(1, { currency: 'EUR', cart });
  try {
    return toMoney(reply);
  } catch (cause) {
    throw new Error(`Payment of ${cart.id} failed`, { cause });
  }
}

function loadRow(id: string): Promise<never> {
  const wanted = `row-${id}`;
  return Promise.reject(new Error(`${wanted} is missing`));
}

function planted(app: express.Express): void {
  app.get('/throws/:id', function throwsAtOnce(req) {
    const amount = req.params.id.length - 100;
    if (amount < 0) throw new RangeError('The amount is out of range');
  });
  app.get('/awaits/:id', async function awaits(req) {
    const order: Order = { id: req.params.id };
    await sleep(1);
    nameOf(order);
  });
  app.get('/helper/:id', (req, res) => {
    res.send(nameOf({ id: req.params.id }));
  });
  app.get('/rejects/:id', async function rejects(req, res) {
    res.json(await loadRow(req.params.id));
  });
  app.get('/passes/:id', function passes(req, _res, next) {
    const missing = `order ${req.params.id}`;
    next(new Error('Nothing found'));
    expect(missing).to.be.a('string');
  });
  app.get('/streams/:id', function streams(req, _res, next) {
    const chunkSizes = [3, 0];
    Readable.from([Buffer.from('abc')]).on('data', function onData(chunk: Buffer) {
      const expected = chunkSizes[1];
      if (chunk.length !== expected) next(new Error(`A chunk for ${req.params.id} has a wrong length`));
    });
  });
  app.get('/wrapped/:id', async function wrapped(req, res) {
    const cart = { id: req.params.id, lines: [1, 2] };
    try {
      res.json(await charge(cart));
    } catch (error) {
      throw new Error('Checkout failed', { cause: error });
    }
  });
  app.get('/awaited/:id', async function awaited(req, res) {
    const cart = { id: req.params.id };
    res.json(await charge(cart));
  });
  app.get('/swallows/:id', function swallows(req, res) {
    let prefs: unknown = null;
    for (let index = 0; index < 3; index++) {
      try {
        prefs = JSON.parse(`{no json ${req.params.id}`);
      } catch {
        prefs = null;
      }
    }
    try {
      decodeURIComponent('%');
    } catch {}
    res.send(nameOf(prefs as Order));
  });
  app.get('/template/:id', function template(req, res) {
    const view = { order: { id: req.params.id } };
    res.send(ejs.render('<p><%= order.customer.name %></p>', view));
  });
  app.get('/often/:id', function often(req, res) {
    let broken = 0;
    for (let index = 0; index < 30; index++) {
      try {
        JSON.parse(req.params.id);
      } catch {
        broken++;
      }
    }
    res.send(nameOf({ id: String(broken) }));
  });
  app.get('/answers/:id', function answers(req, res) {
    try {
      res.send(nameOf({ id: req.params.id }));
    } catch (error) {
      res.status(500).json({ error: (error as Error).message });
    }
  });
  app.get('/sometimes/:id', function sometimes(_req, res) {
    if (state.isBroken) nameOf({ id: 'x' });
    res.send('fine');
  });
  app.get('/secrets/:id', function secrets(req, res) {
    const password = 'hunter2-in-a-local';
    const config = { apiKey: 'key-in-an-object-1', nested: { clientSecret: 'secret-in-depth-2' } };
    const headers = ['authorization', 'Bearer list-of-headers-3'];
    const jwt =
      'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U';
    const address = 'postgres://app:pass-in-address-4@db/shop';
    const card = { number: '4111 1111 1111 1111', holder: 'A' };
    const inText = `the value is ${CONFIGURED}, encoded ${encodeURIComponent(CONFIGURED)}`;
    const map = new Map([['accessToken', 'token-in-a-map-5']]);
    const getter = {
      get secretOfGetter(): string {
        state.ran.push('getter');
        return 'getter-ran-6';
      },
    };
    const proxy = new Proxy(
      { inside: 'proxy-read-7' },
      {
        ownKeys() {
          state.ran.push('proxy');
          return [];
        },
        get() {
          state.ran.push('proxy');
          return 'proxy-read-7';
        },
      },
    );
    const all = [password, config, headers, jwt, address, card, inText, map, getter, proxy];
    res.send(nameOf({ id: `${req.params.id}${all.length}` }));
  });
  app.get('/plants/:from', function plants(req, res) {
    const texts = [0, 1, 2, 3, 4].map((part) => {
      const from = Number(req.params.from) + part * PLANTED;
      return examples.slice(from, from + PLANTED).map(({ text }) => text);
    });
    const [texts0, texts1, texts2, texts3, texts4] = texts;
    const [fields0, fields1, fields2, fields3, fields4] = texts.map((some) =>
      Object.fromEntries(some.map((text, index) => [`note${index}`, { text }])),
    );
    const all = [texts0, texts1, texts2, texts3, texts4, fields0, fields1, fields2, fields3, fields4];
    res.send(nameOf({ id: String(all.length) }));
  });
  app.get('/unnamed/:id', async (req) => {
    const order = { id: req.params.id };
    await sleep(order.id.length);
    const error = Object.assign(new Error('Not found'), { status: 404 });
    throw error;
  });
  app.get('/alike/:id', function alike(req) {
    const id = `alike ${req.params.id}`;
    if (id.includes('text')) throw 'alike';
    throw (state.kept ??= new Error('One error for all requests'));
  });
  app.post('/writes/:id', express.json(), function writes(req, res) {
    state.writes++;
    res.send(nameOf(req.body as Order));
  });
}

const state = { isBroken: true, writes: 0, ran: [] as string[], kept: null as Error | null };

function exceptionOf(profile: Profile): ExceptionData {
  return profile.panels.exception?.data as ExceptionData;
}

function framesOf(profile: Profile): ThrownFrame[] {
  return exceptionOf(profile).errors.flatMap(({ thrown }) => thrown.chain.flatMap(({ frames }) => frames));
}

function valuesIn(profile: Profile, name: string): ThrownFrame['values'] {
  return framesOf(profile).find((frame) => frame.values !== undefined && frame.function?.includes(name))
    ?.values;
}

describe('values where a request failed', () => {
  withOptimizedCode();
  let profiler: Profiler;
  let server: Server;
  let url: string;

  async function start(options: ProfilerOptions = {}): Promise<void> {
    profiler = createProfiler({
      observe: false,
      warn: () => undefined,
      toolbar: false,
      secrets: { SETTING: CONFIGURED },
      ...options,
    });
    const app = express();
    app.use(profiler.watch, profiler.pages);
    planted(app);
    app.use(profiler.errors);
    ({ server, origin: url } = await listen(app));
  }

  beforeEach(() => {
    Object.assign(state, { isBroken: true, writes: 0, ran: [] });
    return start();
  });

  afterEach(() => close(server, profiler));

  async function failed(path: string, init: RequestInit = {}): Promise<Profile> {
    return finalProfile(profiler, await fetch(`${url}${path}`, init));
  }

  async function textOf(token: string): Promise<string> {
    return (await fetch(`${url}/_profiler/${token}?panel=exception`)).text();
  }

  async function page(token: string): Promise<ReturnType<typeof load>> {
    return load(await textOf(token));
  }

  async function act(token: string, fields: Record<string, string> = {}): Promise<Response> {
    // All forms of a page are signed alike.
    const [, csrf = ''] = / name="csrf" value="([^"]+)"/.exec(await textOf(token)) ?? [];
    return fetch(`${url}/_profiler/-/values`, {
      method: 'POST',
      redirect: 'manual',
      headers: { 'sec-fetch-site': 'same-origin', 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ token, csrf, back: `/_profiler/${token}?panel=exception`, ...fields }),
    });
  }

  /** The profile of the request that was sent again. */
  async function withValues(before: Profile, fields: Record<string, string> = {}): Promise<Profile> {
    const response = await act(before.token, fields);
    expect(response.status, await response.text()).to.equal(303);
    const location = response.headers.get('location') ?? '';
    const token = /_profiler\/([0-9a-f]{6})\?panel=exception/.exec(location)?.[1] ?? location;
    return finalProfile(profiler, token);
  }

  async function again(path: string, fields: Record<string, string> = {}): Promise<Profile> {
    return withValues(await failed(path), fields);
  }

  it('shows the wrong value of each planted fault on the first screen', async () => {
    const faults: [path: string, shown: RegExp][] = [
      ['/throws/m1', /amount -98/],
      ['/awaits/m2', /order \{ id: "m2" \} the message is about order\.customer/],
      ['/rejects/m5', /wanted "row-m5" in the message/],
      ['/passes/m9', /missing "order m9"/],
      ['/streams/m10', /expected 0/],
      ['/template/m13', /view \{ order: \{ id: "m13" \} \}/],
    ];
    for (const [path, shown] of faults) {
      const profile = await again(path);
      const $ = await page(profile.token);
      const rows = $('.frames').first().find('.vals').first().find('tr').toArray();
      const texts = rows.map((row) =>
        $(row)
          .children()
          .toArray()
          .map((cell) => $(cell).text().trim())
          .join(' '),
      );
      expect(texts.join('\n').replace(/ +/g, ' '), path).to.match(shown);
    }
  });

  it('shows arguments and locals of each own frame, also of one that threw again after an await, in one call of an agent', async () => {
    await close(server, profiler);
    delete process.env.JEST_WORKER_ID;
    await start().finally(() => (process.env.JEST_WORKER_ID = '1'));
    const { token } = await failed('/wrapped/w1');
    const response = await fetch(`${url}/_profiler/mcp`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: 'values', arguments: { token } },
      }),
    });
    const text = await response.text();
    expect(text).to.match(/Same error, same line\./);
    expect(text).to.match(/`amount` \| `undefined` \|[^|]*\| named by the message/);
    const link = (await page(token))('.armed a').attr('href') ?? '';
    const profile = await finalProfile(profiler, /_profiler\/([0-9a-f]{6})/.exec(link)?.[1] ?? link);
    expect(valuesIn(profile, 'charge')).to.deep.include({ cart: { id: 'w1', lines: [1, 2] } });
    const frame = framesOf(profile).find((one) => one.function === 'wrapped' && one.values !== undefined);
    expect(frame?.values)
      .to.have.property('cart')
      .that.deep.equals({ id: 'w1', lines: [1, 2] });
    // A module's variable that the line uses.
    expect(valuesIn(profile, 'toMoney')).to.deep.include({ currency: 'EUR' }).and.have.property('rates');
  });

  it('says that locals are not available in a frame that awaited and did not throw again', async () => {
    const profile = await again('/awaited/w2');
    const frames = framesOf(profile).filter((one) => one.function === 'awaited');
    expect(frames).to.not.be.empty;
    for (const frame of frames) expect(frame.values).to.equal(undefined);
    const $ = await page(profile.token);
    expect($('.frames').text()).to.include('Locals not available');
    const markdown = await (await fetch(`${url}/_profiler/${profile.token}.md?panel=exception`)).text();
    expect(markdown).to.match(/awaited\(\).*locals not available/);
    expect(markdown).to.match(/amount.*undefined.*named by the message/);
  });

  it('lists errors that own code caught, with both lines', async () => {
    const { swallowed, stops } = exceptionOf(await again('/swallows/s1')).values!;
    expect(stops).to.equal(5);
    expect(swallowed.map((one) => [one.class, one.times, one.isEmptyCatch])).to.deep.equal([
      ['SyntaxError', 3, false],
      ['URIError', 1, true],
    ]);
    for (const { thrown, caught, values } of swallowed) {
      expect(thrown).to.match(/^test\/observe\/values\.test\.ts:\d+$/);
      expect(Number(caught?.split(':')[1]) - Number(thrown.split(':')[1])).to.equal(1);
      expect(values).to.equal(undefined);
    }
    const asked = exceptionOf(await again('/swallows/s2', { caught: 'yes' })).values!;
    expect(asked.swallowed[0]?.values).to.include({ index: 0, prefs: null });
  });

  it('shows what was caught when the code answers with a 500 itself', async () => {
    const profile = await again('/answers/a1');
    expect(exceptionOf(profile).values?.swallowed).to.have.length(1);
    const shown = (await page(profile.token))('#swallowed');
    expect(shown.text()).to.include("reading 'name'");
    expect(shown.text()).to.include('{ id: "a1" }');
  });

  it('links both requests, and says how they compare', async () => {
    const before = await failed('/helper/l1');
    const after = await withValues(before);
    const newer = await page(after.token);
    expect(newer('.armed').text()).to.include('Same error, same line.');
    expect(newer('.armed a').attr('href')).to.include(before.token);
    await until(
      async () => (await page(before.token))('.armed a').length > 0,
      'the old one links to the new one',
    );
    expect((await page(before.token))('.armed a').attr('href')).to.include(after.token);

    const once = await failed('/sometimes/1');
    state.isBroken = false;
    const fine = await withValues(once);
    expect((await page(fine.token))('.armed').text()).to.include('It did not fail this time.');
  });

  it('asks before anything but a GET', async () => {
    const body = JSON.stringify({ id: 'p1', note: 'kept' });
    const before = await failed('/writes/p1', {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/json' },
    });
    const asked = await act(before.token);
    expect(asked.status).to.equal(200);
    const $ = load(await asked.text());
    expect($('form[action$="/values"] [name=sure]').length).to.equal(1);
    expect(state.writes).to.equal(1);
    const after = await withValues(before, { sure: 'yes' });
    expect(state.writes).to.equal(2);
    expect(valuesIn(after, 'nameOf')).to.deep.include({ order: { id: 'p1', note: 'kept' } });
  });

  it('waits for the next request of the route that fails', async () => {
    const before = await failed('/sometimes/1');
    expect((await act(before.token, { wait: 'yes' })).status).to.equal(303);
    expect((await page(before.token))('.armed').text()).to.include('GET /sometimes/:id');
    state.isBroken = false;
    expect(exceptionOf(await failed('/sometimes/2'))?.errors ?? []).to.be.empty;
    state.isBroken = true;
    const found = await eventually(async () => {
      const profile = await failed('/sometimes/3');
      expect(valuesIn(profile, 'nameOf')).to.deep.include({ order: { id: 'x' } });
      return profile;
    }, 'a waited request has values');
    expect(exceptionOf(found).values?.of).to.equal(before.token);
    expect(exceptionOf(await failed('/sometimes/4')).values).to.equal(undefined);
  });

  it('never shows values of another request, of 100 that fail at once', async () => {
    const before = await failed('/awaits/first');
    let own = 0;
    // Among fewer, if their throws used up the time for which the process may stand still.
    for (const count of [100, 20, 0]) {
      const others = Array.from({ length: count }, (_, index) =>
        fetch(`${url}/awaits/other-${index}`, WITHOUT_PAGE),
      );
      const [after] = await Promise.all([withValues(before), ...others]);
      const shown = JSON.stringify(exceptionOf(after));
      expect(shown).to.not.include('other-');
      await Promise.all(others.map(async (other) => (await other).text()));
      if (valuesIn(after, 'nameOf') !== undefined) own++;
      if (own > 0) break;
    }
    expect(own).to.be.greaterThan(0);
  });

  it('masks secrets by name, shape and value, runs no getter and enters no proxy', async () => {
    const profile = await again('/secrets/x1');
    expect(valuesIn(profile, 'secrets')).to.include.keys('password', 'config', 'map', 'getter', 'proxy');
    const text = JSON.stringify(profile) + (await page(profile.token)).html();
    for (const secret of [
      'hunter2-in-a-local',
      'key-in-an-object-1',
      'secret-in-depth-2',
      'list-of-headers-3',
      'dozjgNryP4J3jVmNHl0w5N',
      'pass-in-address-4',
      '4111 1111 1111 1111',
      CONFIGURED,
      'token-in-a-map-5',
      'getter-ran-6',
      'proxy-read-7',
    ])
      // The lines of the source are masked as they are without values.
      expect(
        JSON.stringify(framesOf(profile).map(({ values }) => values)) + swallowedText(profile),
        secret,
      ).to.not.include(secret);
    expect(text).to.include('[masked');
    expect(state.ran).to.be.empty;
  });

  it('shows none of the secrets that the table of masking names, as locals and in objects', async () => {
    expect(examples.length).to.be.above(60);
    for (let from = 0; from < examples.length; from += 5 * PLANTED) {
      const profile = await withValues(await failed(`/plants/${from}`, WITHOUT_PAGE));
      const values = valuesIn(profile, 'plants');
      expect(values).to.include.keys('texts0', 'texts4', 'fields0', 'fields4');
      const text = JSON.stringify([values, exceptionOf(profile).values]);
      for (const { example, secrets } of examples.slice(from, from + 5 * PLANTED))
        for (const secret of secrets) expect(text, example).to.not.include(secret);
    }
  });

  it('shows those of a handler without a name that throws on another line than it made the error', async () => {
    const [frame] = framesOf(await again('/unnamed/n1'));
    expect(frame).to.include({ function: null });
    expect(frame?.values).to.deep.include({ order: { id: 'n1' } });
  });

  it('keeps the values of one request off another that throws the same text, or the same error', async () => {
    for (const kind of ['text', 'error']) {
      const first = await again(`/alike/${kind}-first`);
      expect(valuesIn(first, 'alike')).to.include({ id: `alike ${kind}-first` });
      // A text has no stack.
      expect((await page(first.token))('.frames .fn').first().text()).to.equal('alike');
      const other = await failed(`/alike/${kind}-second`);
      expect(exceptionOf(other).errors).to.have.length(1);
      expect(framesOf(other).filter(({ values }) => values !== undefined)).to.be.empty;
    }
  });

  function swallowedText(profile: Profile): string {
    return JSON.stringify(exceptionOf(profile).values);
  }

  it('ends after 20 throws', async () => {
    const profile = await again('/often/o1');
    const { stops, ended } = exceptionOf(profile).values!;
    // On a busy machine the stops take longer, and the other limit ends it.
    expect(stops).to.be.within(2, 20);
    expect(ended).to.be.oneOf(['It threw more than 20 times.', 'The process was paused for 200 ms.']);
    if (stops === 20) expect(ended).to.include('more than 20 times');
    expect((await page(profile.token))('main').text()).to.include(ended?.slice(0, -1));
  });

  it('loads no inspector and starts no worker before somebody asks', async () => {
    const { getBuiltinModule } = process;
    const asked: string[] = [];
    process.getBuiltinModule = (name: string) => {
      asked.push(name);
      return getBuiltinModule.call(process, name);
    };
    try {
      const { token } = await failed('/wrapped/u1');
      expect((await page(token))('form[action$="/values"]').length).to.equal(1);
      expect(asked).to.not.include.members(['node:inspector']);
      expect(asked).to.not.include.members(['node:worker_threads']);
      await act(token);
      expect(asked).to.include.members(['node:inspector', 'node:worker_threads']);
    } finally {
      process.getBuiltinModule = getBuiltinModule;
    }
  });

  it('refuses in production, beside another debugger, and when nothing may be sent again', async () => {
    const other = await failed('/helper/r2');
    open(0);
    const refused = await act(other.token).finally(closeDebugger);
    expect(refused.status).to.equal(400);
    expect(await refused.text()).to.include('Another debugger is attached');
    await close(server, profiler);

    await start({ replay: 'off' });
    const { token } = await failed('/helper/r1');
    expect((await page(token))('form[action$="/values"] button').text()).to.equal('Wait for the next one');
    expect((await act(token)).status).to.equal(400);
    await close(server, profiler);

    const { NODE_ENV } = process.env;
    process.env.NODE_ENV = 'production';
    try {
      await start({ enabled: true });
    } finally {
      if (NODE_ENV === undefined) delete process.env.NODE_ENV;
      else process.env.NODE_ENV = NODE_ENV;
    }
    const { token: productive } = await failed('/helper/r3');
    const $ = await page(productive);
    expect($('.armed').text()).to.include('Values are not read in production');
    expect($('form[action$="/values"]').length).to.equal(0);
  });
});
