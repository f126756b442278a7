/**
 * Secrets planted in every place that a request, a handler or the environment has, around every limit of length: nothing
 * of them, not even a part of eight characters, may be found in a page, an answer in JSON, a line or a row of the storage.
 */
import { expect } from 'chai';
import { once } from 'node:events';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { get, request as httpRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Router, type Request, type Response } from 'express';
import { Client } from 'pg';
import { createService, readConfig, type Service, type Services } from '../../app/service.ts';
import { fillWithCluster } from '../support/postgres.ts';
import { exchange } from '../support/raw-http.ts';
import { WITHIN_MS } from '../support/waiting.ts';
import { freshFolder } from '../support/fresh-folder.ts';

/** Known to the service by its environment. */
const KNOWN = {
  APP_SECRET: 'Qz7w app+S/k"3tVx&9<r>T',
  API_KEY: 'Kx4mJ8vRb2NqYt6WpZc1',
  PROFILER_UNUSED: '',
};
/** Given by a client under a name that says so; the number tells where it was planted. */
const CORE = 'mN6cHq8Gd1BzVw';
let planted = 0;
function plant(): string {
  return `${CORE}${String(planted++).padStart(3, '0')}`;
}

/** Every limit of length that something in a profile has. */
const LIMITS = [80, 300, 500, 2000, 4096, 16_384, 65_536];

/** The value so placed that a limit cuts it in its middle. */
function atLimits(value: string): string[] {
  const limits = isLikeAnother(value) ? LIMITS.slice(0, 1) : LIMITS;
  return limits.map((limit) => 'x'.repeat(limit - 10) + value);
}

/** The others are made of letters and digits: what is asked of the first is asked of them once. Each spelling: profiler/redact.test.ts. */
function isLikeAnother(value: string): boolean {
  return value !== KNOWN.APP_SECRET;
}

function spelled(value: string): string[] {
  if (isLikeAnother(value)) return [value];
  const hex = Buffer.from(value).toString('hex');
  return [
    value,
    encodeURIComponent(value),
    encodeURIComponent(value).replace(/%../g, (code) => code.toLowerCase()),
    [...Buffer.from(value)].map((byte) => `%${byte.toString(16)}`).join(''),
    JSON.stringify(value),
    JSON.stringify(JSON.stringify(value)),
    Array.from(value)
      .map((character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
    Buffer.from(value).toString('base64'),
    Buffer.from(`user:${value}`).toString('base64url'),
    hex,
    hex.toUpperCase(),
    value.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`),
  ];
}

/** A text of which `least` characters in a row are too many. */
interface Trace {
  text: string;
  least: number;
}

/** The spellings of a value that a page may show: eight characters of it are too many. */
function tracesOf(value: string): Trace[] {
  const hex = Buffer.from(value).toString('hex');
  const base64 = [0, 1, 2].map((offset) =>
    Buffer.from('x'.repeat(offset) + value)
      .toString('base64')
      .slice(offset === 0 ? 0 : offset + 1, -4),
  );
  return [
    { text: value, least: 8 },
    ...base64.map((text) => ({ text, least: 12 })),
    { text: hex, least: 20 },
  ];
}

/** How many characters before and after these places are the same. */
function lengthOfRun(trace: string, from: number, whole: string, at: number): number {
  let before = 0;
  while (from - before > 0 && at - before > 0 && trace[from - before - 1] === whole[at - before - 1])
    before++;
  let after = 0;
  while (from + after < trace.length && trace[from + after] === whole[at + after]) after++;
  return before + after;
}

/** Where `least` characters of the text are in `whole`; -1: nowhere. Of any that many, one of the few parts that are looked for is whole. */
function indexOfTrace({ text, least }: Trace, whole: string): number {
  const step = least / 2;
  const length = least - step + 1;
  for (let from = 0; from + length <= text.length; from += step) {
    const part = text.slice(from, from + length);
    for (let at = whole.indexOf(part); at !== -1; at = whole.indexOf(part, at + 1))
      if (lengthOfRun(text, from, whole, at) >= least) return at;
  }
  return -1;
}

describe('secrets in every place', () => {
  let service: Service;
  let folder: string;
  let origin: string;
  const lines: string[] = [];
  const output: string[] = [];
  const answers: string[] = [];
  const write = {
    out: process.stdout.write.bind(process.stdout),
    err: process.stderr.write.bind(process.stderr),
  };

  function capture(): void {
    const keep = (chunk: unknown): boolean => {
      output.push(String(chunk));
      return true;
    };
    process.stdout.write = keep;
    process.stderr.write = keep;
  }
  function release(): void {
    process.stdout.write = write.out;
    process.stderr.write = write.err;
  }

  /** What a careless handler does with a value: all of it. */
  async function spill(req: Request, res: Response, value: string): Promise<void> {
    const { db, dump } = services;
    console.debug('value', value, { note: value, [value]: 1, deep: [{ list: [value] }] });
    console.debug(`%s and %o`, value, new Error(value));
    dump({ note: value, [value]: value });
    dump(value);
    await db().raw('select ? as a', [value.replaceAll('\0', '')]);
    await db()
      .raw(`select '${value.replaceAll("'", "''").replaceAll('?', '\\?')}' as a`)
      .catch(() => undefined);
    await db()
      .raw('select ?::integer', [value])
      .catch(() => undefined);
    const note = encodeURIComponent(value).slice(0, 6000);
    await fetch(`${origin}/plain?x=${note}`, { headers: { 'x-note': note.slice(0, 3000) } });
    await new Promise<void>((resolve) => {
      get(`${origin}/plain?y=${note}`, { headers: { 'x-note': note.slice(0, 3000) } }, (answer) => {
        answer.resume().on('end', resolve);
      });
    });
    res.setHeader('x-note', note.slice(0, 5000));
    res.setHeader('set-cookie', `sid=${note.slice(0, 3000)}; Path=/`);
    req.app.render('leak', { note: value, deep: { [value.slice(0, 300)]: value } }, () => undefined);
    if (req.query.throw !== undefined) {
      const cause = new Error(`cause ${value}`, { cause: { [value.slice(0, 400)]: value } });
      const error = Object.assign(new Error(`told ${value}`, { cause }), { note: value, code: value });
      throw new AggregateError([error, new Error(value)], value);
    }
    res.json({ note: value, text: `before ${value}` });
  }

  let services: Services;

  function routes(): Router {
    const router = Router();
    router.get('/plain', (_req, res) => {
      res.end('ok');
    });
    const values = Object.values(KNOWN).filter((value) => value !== '');
    const all = values.flatMap((value) => [...atLimits(value), ...spelled(value)]);
    router.get('/known/:index', (req, res) => spill(req, res, all[Number(req.params.index)] ?? 'none'));
    router.get('/count', (_req, res) => {
      res.json(all.length);
    });
    router.all('/echo', (req, res) => {
      const body: unknown = req.body;
      console.debug('got', body, req.headers, req.url);
      res.json({ body });
    });
    router.get('/refuse', (_req, _res) => {
      throw Object.assign(new Error(`refused ${KNOWN.API_KEY}`), { status: 400, expose: true });
    });
    return router;
  }

  before(async () => {
    folder = freshFolder();
    await chmod(folder, 0o755);
    await mkdir(join(folder, 'var'));
    await fillWithCluster(join(folder, 'var'));
    await writeFile(join(folder, 'leak.ejs'), '<p><%= note.length %></p>');
    // The service takes its own way out when it is made; what it writes there is kept from then on.
    capture();
    service = createService({
      config: readConfig({ VAR_DIR: join(folder, 'var'), PORT: '0', PROFILER_CPU: 'ask', ...KNOWN }),
      routes: [
        {
          mount: '/',
          parsers: 'after',
          router: (given) => {
            services = given;
            return routes();
          },
        },
      ],
      viewFolders: [folder],
      migrationsFolder: folder,
      log: (line) => lines.push(line),
    });
    release();
    service.server.listen(0, '127.0.0.1');
    await once(service.server, 'listening');
    origin = `http://127.0.0.1:${(service.server.address() as AddressInfo).port}`;
    await service.openDatabase();
  });
  after(async () => {
    release();
    await service.close();
  });

  async function ask(path: string, init: RequestInit = {}): Promise<string> {
    const response = await fetch(`${origin}${path}`, {
      redirect: 'manual',
      signal: AbortSignal.timeout(WITHIN_MS),
      ...init,
    });
    const body = await response.text();
    if (response.status >= 400 || path.startsWith('/_profiler')) {
      answers.push(`${[...response.headers].filter(([name]) => name !== 'x-note').join('\n')}\n${body}`);
    }
    return response.headers.get('x-debug-token') ?? '';
  }

  function post(path: string, type: string, body: string): Promise<string> {
    return ask(path, { method: 'POST', headers: { 'content-type': type }, body });
  }

  async function attackByName(): Promise<void> {
    const form = 'application/x-www-form-urlencoded';
    const json = 'application/json';
    for (const [path, pads] of [
      ['/echo', [0]],
      ['/nowhere', [0, 16_360]],
    ] as const) {
      for (const pad of pads) {
        const x = 'x'.repeat(pad);
        await post(
          path,
          form,
          `note=${x}&user=bob&password=${plant()}&user[pass][new]=${plant()}&apiKey=${plant()}`,
        );
        await post(path, form, `note=${x}&password=${plant()}')(;${plant()}&a=1`);
        await post(
          path,
          json,
          JSON.stringify({ note: x, password: plant(), a: { tokens: [plant(), { b: plant() }] } }),
        );
        await post(
          path,
          json,
          JSON.stringify({
            note: x,
            text: JSON.stringify({ secret: plant(), in: JSON.stringify({ pwd: plant() }) }),
          }),
        );
        await post(path, json, `{"note":"${x}","passw\\u006frd":"${plant()}","broken`);
        await post(
          path,
          json,
          `{"note":"${x}","password":["${plant()}"],"secret":{"a":"${plant()}"},"broken`,
        );
        await post(
          path,
          'application/xml',
          `<a><note>${x}</note><password>${plant()}</password><secret><![CDATA[${plant()}]]></secret><u token="${plant()}"/></a>`,
        );
        await post(
          path,
          'text/plain',
          `${x} password: ${plant()}\nAuthorization: Bearer ${plant()}\nCookie: a=${plant()}; b=${plant()}`,
        );
        await post(
          path,
          'text/plain',
          `${x} password="${plant()}${'y'.repeat(700)}${plant()}" user: "bob token=${plant()}"`,
        );
        const boundary = 'multipart/form-data; boundary=b';
        const part = (name: string, value: string): string =>
          `--b\r\nContent-Disposition: form-data; ${name}\r\n\r\n${value}\r\n`;
        await post(
          path,
          boundary,
          `${part('name="note"', x)}${part('name="password"', plant())}${part(`name="file"; filename="token=${plant()}.txt"`, plant())}--b--\r\n`,
        );
      }
      const query = `password=${plant()}&a[secret]=${plant()}&x=${encodeURIComponent(JSON.stringify({ token: plant() }))}&pass%77d=${plant()}`;
      await ask(`${path}?${query}`, {
        headers: { referer: `http://ref.test/?token=${plant()}&a=1#access_token=${plant()}` },
      });
      for (const limit of LIMITS.filter((length) => length < 14_000))
        await ask(`${path}?x=${'x'.repeat(limit - 20)}&token=${plant()}`);
      await ask(path, {
        headers: {
          authorization: `Basic ${Buffer.from(`bob:${plant()}`).toString('base64')}`,
          cookie: `${plant()}; a=${plant()}; sid=s%3A${plant()}`,
          'x-api-key': plant(),
          'proxy-authorization': `Digest username="bob", response="${plant()}", nonce=${plant()}`,
          'x-forwarded-authorization': `Bearer ${plant()}`,
        },
      });
    }
  }

  async function attackByKnownValue(): Promise<void> {
    const count = Number(await (await fetch(`${origin}/count`)).text());
    // What throws has done all the rest before.
    for (let index = 0; index < count; index++) {
      if (index % 4 === 0) await ask(`/known/${index}`);
      await ask(`/known/${index}?throw`);
    }
    for (const value of Object.values(KNOWN).filter((known) => known !== '')) {
      const bare = value.replace(/[^A-Za-z0-9]/g, 'x') === value;
      const texts = spelled(value).map((known) => (known.includes('%') ? known : encodeURIComponent(known)));
      const limits = LIMITS.filter((length) => length < 12_000);
      for (const [at, text] of texts.entries()) {
        await ask(`/${text}`);
        await ask(`/plain?x=${text}`, { headers: { referer: `http://r.test/${text}` } });
        // A limit cuts every spelling alike: each is met by two of them.
        await ask(`/${'x'.repeat(limits[at % limits.length]! - 10)}${text}`);
      }
      for (const text of atLimits(value)) {
        await post('/echo', 'text/plain', text);
        await post('/nowhere', 'application/json', JSON.stringify({ note: text }));
        await post('/nowhere', 'application/json', `{"note": ${text}`);
        await post('/nowhere', 'application/x-www-form-urlencoded', `note=${encodeURIComponent(text)}`);
      }
      if (bare) {
        const { port } = service.server.address() as AddressInfo;
        await exchange(port, [`GET / HTTP/1.1\r\nHost: a\r\nX-${value}: ${value}\r\nbad ${value}\r\n\r\n`], {
          halfClose: true,
        });
        await exchange(port, [`${value} /${value} HTTP/1.1\r\nHost: ${value}!\r\n\r\n`], { halfClose: true });
        await new Promise<void>((resolve) => {
          httpRequest(
            `${origin}/echo`,
            { headers: { host: `${value}.test`, [`x-${value}`]: 'a' } },
            (answer) => {
              answer.resume().on('end', resolve);
            },
          ).end();
        });
      }
      await ask(`/_profiler/search?url=${encodeURIComponent(value)}&status=${encodeURIComponent(value)}`);
      await ask(`/_profiler/search_bar?url=${encodeURIComponent(value)}`);
      for (const name of ['find', 'sort', 'since', 'status', 'method=GET&route'])
        await ask(`/_profiler/routes?${name}=${encodeURIComponent(value)}`);
      for (const name of ['a', 'b', 't'])
        await ask(`/_profiler/compare?${name}=${encodeURIComponent(value)}`);
      await ask(`/_profiler/${encodeURIComponent(value)}?panel=${encodeURIComponent(value)}`);
    }
    await ask('/refuse');
  }

  async function readEverything(): Promise<void> {
    const panels =
      service.profiler === null
        ? []
        : [
            'request',
            'timeline',
            'exception',
            'logs',
            'routing',
            'database',
            'migrations',
            'views',
            'http_client',
            'runtime',
            'configuration',
            'dump',
          ];
    const listed = (await (await fetch(`${origin}/_profiler/search.json?limit=200&kind=all`)).json()) as {
      profiles?: { token: string }[];
      rows?: { token: string }[];
    };
    const tokens = (listed.profiles ?? listed.rows ?? []).map(({ token }) => token);
    expect(tokens).to.have.length(200);
    // Every row of the database is looked at as it is.
    for (const [index, token] of tokens.entries()) {
      if (index % 4 === 0) await ask(`/_profiler/${token}.json`);
      if (index % 8 === 1) await ask(`/_profiler/${token}.md`);
      if (index % 40 !== 0) continue;
      for (const panel of panels) await ask(`/_profiler/${token}?panel=${panel}&all=1`);
      await ask(`/_profiler/${token}/exception`);
      await ask(`/_profiler/${token}/toolbar`);
      const pair = `a=${token}&b=${tokens[index + 1] ?? ''}`;
      for (const form of ['', '.json', '.md']) await ask(`/_profiler/compare${form}?${pair}&all=1`);
    }
    for (const path of [
      '/_profiler/',
      '/_profiler/search?limit=200',
      '/_profiler/search?has=error&limit=200',
      '/_profiler/routes?since=all',
      '/_profiler/routes.json?since=all',
      '/_profiler/compare',
    ])
      await ask(path);
  }

  async function readTable(): Promise<string[]> {
    await new Promise((resolve) => setTimeout(resolve, 1500));
    const client = new Client(await service.databaseSettings());
    await client.connect();
    try {
      const { rows } = await client.query<{ text: string }>(
        'select p::text as text from localhost.hindsight_profiles p',
      );
      return rows.map(({ text }) => text);
    } finally {
      await client.end();
    }
  }

  function finds(values: readonly string[], texts: readonly string[]): string[] {
    const whole = texts.join('\n\u0000\n');
    const found = values.flatMap(tracesOf).flatMap((trace) => {
      const at = indexOfTrace(trace, whole);
      return at === -1 ? [] : [JSON.stringify(whole.slice(Math.max(0, at - (at % 400)), at + 400))];
    });
    return [...new Set(found)];
  }

  it('would be found by any part that is too long, and by none that is shorter', () => {
    for (const { text, least } of [KNOWN.APP_SECRET, CORE].flatMap(tracesOf))
      for (let at = 0; at + least <= text.length; at++) {
        const part = text.slice(at, at + least);
        expect(indexOfTrace({ text, least }, `x${part}x`), part).to.not.equal(-1);
        expect(indexOfTrace({ text, least }, `~${part.slice(1)}~`), part).to.equal(-1);
      }
  });

  it('are found nowhere', async () => {
    const debug = console.debug;
    capture();
    // The application's own lines are its own; the profiler's observer sees them all the same.
    const quiet = process.stdout.write;
    try {
      await attackByName();
      await attackByKnownValue();
      await readEverything();
    } finally {
      console.debug = debug;
      process.stdout.write = quiet;
      release();
    }
    const rows = await readTable();
    const known = Object.values(KNOWN).filter((value) => value !== '');
    // What the handlers printed themselves goes to the same stream as the access log: its lines are told by their shape.
    const logged = output.filter((line) => /^\S+ [A-Z]+ \S+ (?:\d{3}|aborted) /.test(line));
    expect(rows.length).to.be.greaterThan(200);
    expect(logged.length).to.be.greaterThan(200);
    for (const [place, texts] of Object.entries({ rows, answers, lines, logged }))
      expect(
        finds([...known, CORE], texts)
          .slice(0, 20)
          .join('\n'),
        place,
      ).to.equal('');
  });
});
