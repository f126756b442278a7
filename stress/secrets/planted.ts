/**
 * Each example of docs/masking.md's table, with a secret of its own, in each place that a request can carry it. A place takes a few texts
 * per request; those in which the handler spills them get them from here, not from the request, so that only that place holds them.
 */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Router, type Request, type Response } from 'express';
import type * as graphqlPackage from 'graphql';
import type * as ioredisPackage from 'ioredis';
import type * as lruCachePackage from 'lru-cache';
import type * as nodemailerPackage from 'nodemailer';
import type { Profiler } from '../../app/index.ts';
import type { Services } from '../../app/service.ts';
import type { FindingRule, Panel } from '../../app/index.ts';
import { runJobs } from './jobs.ts';
import { examplesOf, type Example } from '../../test/support/masking-table.ts';

export interface Plant {
  place: string;
  kind: string;
  example: string;
  text: string;
  secrets: readonly string[];
}

/** What a handler needs to spill a text into a place. */
interface Spilling {
  req: Request;
  res: Response;
  services: Services;
  profiler: Profiler;
  origin: string;
  /** Socket of a Redis; null: those places are left out. */
  redis: string | null;
}

interface Place {
  name: string;
  /** Examples that may stand there; default: all. */
  takes?: (text: string) => boolean;
  /** Most texts of one request; default: 20. */
  most?: number;
  /** The request that carries the texts; the default asks for the handler below. */
  request?: (texts: readonly string[]) => { path: string; init?: RequestInit };
  spill?: (texts: readonly string[], spilling: Spilling) => unknown;
}

const SAYS = /^[\x20-\x7e]*$/;
const FIELD = /^([A-Za-z-]+): (.*)$/;
const PAIR = /^[\w.[\]-]+=[^\s&]+$/;
/** Fetch refuses to send these. */
const FORBIDDEN = /^(?:cookie|proxy-)/i;

function fieldsOf(texts: readonly string[]): Record<string, string> {
  return Object.fromEntries(texts.map((text, at) => [`note${at}`, text]));
}

function isJson(text: string): boolean {
  try {
    return typeof JSON.parse(text) === 'object';
  } catch {
    return false;
  }
}

function post(type: string, body: string): { path: string; init: RequestInit } {
  return { path: '/plant/echo', init: { method: 'POST', headers: { 'content-type': type }, body } };
}

function multipart(parts: readonly string[]): ReturnType<typeof post> {
  const body = parts.map((part) => `--b\r\nContent-Disposition: form-data; ${part}\r\n`).join('');
  return post('multipart/form-data; boundary=b', `${body}--b--\r\n`);
}

function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}

const sqlText = (text: string): string => `'${text.replaceAll("'", "''").replaceAll('?', '\\?')}'`;
const load = createRequire(import.meta.url);
const run = promisify(execFile);

const PLACES: readonly Place[] = [
  // What the client sends.
  { name: 'path', request: (texts) => ({ path: `/plant/echo/${texts.map(encodeURIComponent).join('/')}` }), most: 8 },
  { name: 'query value', request: (texts) => ({ path: `/plant/echo?${new URLSearchParams(fieldsOf(texts)).toString()}` }) },
  { name: 'query', takes: (text) => PAIR.test(text), request: (texts) => ({ path: `/plant/echo?${texts.join('&')}` }) },
  { name: 'own header', takes: (text) => FIELD.test(text) && !FORBIDDEN.test(text), request: (texts) => ({ path: '/plant/echo', init: { headers: Object.fromEntries(texts.map((text) => FIELD.exec(text)?.slice(1, 3) as [string, string])) } }) },
  { name: 'header value', takes: (text) => SAYS.test(text), request: (texts) => ({ path: '/plant/echo', init: { headers: fieldsOf(texts) } }) },
  { name: 'referer', takes: (text) => SAYS.test(text), most: 4, request: (texts) => ({ path: '/plant/echo', init: { headers: { referer: `http://r.test/?${new URLSearchParams(fieldsOf(texts)).toString()}` } } }) },
  { name: 'user agent', takes: (text) => SAYS.test(text), most: 1, request: ([text = '']) => ({ path: '/plant/echo', init: { headers: { 'user-agent': text } } }) },
  { name: 'form value', request: (texts) => post('application/x-www-form-urlencoded', new URLSearchParams(fieldsOf(texts)).toString()) },
  { name: 'form', takes: (text) => PAIR.test(text), request: (texts) => post('application/x-www-form-urlencoded', texts.join('&')) },
  { name: 'JSON value', request: (texts) => post('application/json', JSON.stringify(fieldsOf(texts))) },
  { name: 'JSON', takes: isJson, request: (texts) => post('application/json', `[${texts.join(',')}]`) },
  { name: 'JSON in JSON', request: (texts) => post('application/json', JSON.stringify({ event: JSON.stringify({ notes: texts }) })) },
  { name: 'JSON that is broken', request: (texts) => post('application/json', `{"notes":${JSON.stringify(texts)},`) },
  { name: 'multipart value', request: (texts) => multipart(texts.map((text, at) => `name="note${at}"\r\n\r\n${text}`)) },
  { name: 'multipart file name', takes: (text) => !/["/\\]/.test(text), request: (texts) => multipart(texts.map((text, at) => `name="file${at}"; filename="${text}"\r\n\r\nx`)) },
  { name: 'XML', request: (texts) => post('application/xml', `<notes>${texts.map((text) => `<note>${escapeXml(text)}</note>`).join('')}</notes>`) },
  { name: 'XML, as it is', takes: (text) => text.startsWith('<'), request: (texts) => post('application/xml', `<notes>${texts.join('')}</notes>`) },
  { name: 'text', most: 1, request: ([text = '']) => post('text/plain', text) },
  { name: 'lines of text', takes: (text) => !text.includes('{'), request: (texts) => post('text/plain', texts.join('\n')) },
  { name: 'GraphQL, inline', request: (texts) => post('application/json', JSON.stringify({ query: `{ ${texts.map((text, at) => `n${at}: note(text: ${JSON.stringify(text)})`).join(' ')} }` })) },
  { name: 'GraphQL, variables', request: (texts) => post('application/json', JSON.stringify({ query: 'query q($texts: [String])  { notes(texts: $texts) }', variables: { texts } })) },
  { name: 'wrong path', most: 8, request: (texts) => ({ path: `/nowhere/${texts.map(encodeURIComponent).join('/')}` }) },
  // What the handler spills.
  { name: 'log line', spill: (texts) => { for (const text of texts) console.debug(text); } },
  { name: 'log, %s', spill: (texts) => { for (const text of texts) console.debug('got %s, and more', text); } },
  { name: 'log, object', spill: (texts) => { for (const text of texts) console.debug('got', { deep: [{ note: text }] }); } },
  { name: 'log, error', spill: (texts) => { for (const text of texts) console.error(new Error(text)); } },
  { name: 'standard output', spill: (texts) => { for (const text of texts) process.stdout.write(`${text}\n`); } },
  { name: 'thrown message', most: 1, spill: ([text]) => { throw new Error(text); } },
  { name: 'thrown text', most: 1, spill: ([text]) => { throw text as unknown as Error; } },
  { name: 'refusal', most: 1, spill: ([text]) => { throw Object.assign(new Error(text), { status: 400, expose: true }); } },
  { name: 'cause', most: 5, spill: (texts) => { throw texts.reduce<Error>((cause, text) => new Error(text, { cause }), new Error('first')); } },
  { name: 'errors of an error', spill: (texts) => { throw new AggregateError(texts.map((text) => new Error(text)), 'many'); } },
  { name: 'property of an error', spill: (texts) => { throw Object.assign(new Error('with notes'), { notes: texts, ...fieldsOf(texts) }); } },
  { name: 'SQL, inline', spill: async (texts, { services }) => { for (const text of texts) await services.db().raw(`select ${sqlText(text)} as a`); } },
  { name: 'SQL, as it is', takes: (text) => /^(?:insert|update|alter|create|identified) /.test(text), spill: async (texts, { services }) => { for (const text of texts) await services.db().raw(text.replaceAll('?', '\\?')).catch(() => undefined); } },
  { name: 'SQL, bound', spill: async (texts, { services }) => { for (const text of texts) await services.db().raw('select ? as a', [text]); } },
  { name: 'SQL, comment', takes: (text) => !text.includes('*/'), spill: async (texts, { services }) => { for (const text of texts) await services.db().raw(`select 1 /* ${text.replaceAll('?', '\\?')} */`).catch(() => undefined); } },
  { name: 'SQL, failed', spill: async (texts, { services }) => { for (const text of texts) await services.db().raw('select ?::integer', [text]).catch(() => undefined); } },
  { name: 'outgoing URL', spill: async (texts, { origin }) => { for (const text of texts) await fetch(`${origin}/plain?x=${encodeURIComponent(text)}`); } },
  { name: 'outgoing query', takes: (text) => PAIR.test(text), spill: async (texts, { origin }) => { for (const text of texts) await fetch(`${origin}/plain?${text}`); } },
  { name: 'outgoing header', takes: (text) => SAYS.test(text), spill: async (texts, { origin }) => { for (const text of texts) await fetch(`${origin}/plain`, { headers: { 'x-note': text } }); } },
  { name: 'outgoing body', spill: async (texts, { origin }) => { for (const text of texts) await fetch(`${origin}/plain`, { method: 'POST', body: text }); } },
  { name: 'response header', takes: (text) => SAYS.test(text), spill: (texts, { res }) => { for (const [name, text] of Object.entries(fieldsOf(texts))) res.setHeader(name, text); } },
  { name: 'set-cookie', takes: (text) => SAYS.test(text), spill: (texts, { res }) => { res.setHeader('set-cookie', texts.map((text, at) => `c${at}=${encodeURIComponent(text)}; Path=/`)); } },
  { name: 'redirect', most: 4, spill: (texts, { res }) => { res.redirect(`/plain?${new URLSearchParams(fieldsOf(texts)).toString()}`); } },
  { name: 'response, JSON', spill: (texts, { res }) => { res.json({ notes: texts }); } },
  { name: 'response, text', most: 1, spill: ([text = ''], { res }) => { res.type('text/plain').end(text); } },
  { name: 'view locals', spill: (texts, { req }) => { req.app.render('planted', { notes: texts, ...fieldsOf(texts) }, () => undefined); } },
  { name: 'dump', spill: (texts, { services }) => { services.dump({ notes: texts }); for (const text of texts) services.dump(text); } },
  { name: 'session', spill: (texts, { req }) => { Object.assign(req, { session: { notes: texts, ...fieldsOf(texts) } }); } },
  { name: 'name on the response', most: 5, spill: (texts, { res }) => { for (const text of texts) res.locals[text] = true; } },
  { name: 'user', spill: (texts, { req }) => { Object.assign(req, { user: { notes: texts, ...fieldsOf(texts) } }); } },
  { name: 'Redis value', spill: async (texts, { redis }) => withRedisClient(redis, async (client) => { for (const text of texts) await client.set('note', text); }) },
  { name: 'Redis key', spill: async (texts, { redis }) => withRedisClient(redis, async (client) => { for (const text of texts) await client.get(text); }) },
  { name: 'cache in memory, value', spill: (texts) => { const cache = memoryCache(); for (const text of texts) { cache.set('note', text); cache.get('note'); } } },
  { name: 'cache in memory, key', spill: (texts) => { const cache = memoryCache(); for (const text of texts) { cache.get(text); cache.set(text, 1); } } },
  { name: 'mail', spill: async (texts) => { const mail = (load('nodemailer') as typeof nodemailerPackage).createTransport({ jsonTransport: true }); for (const text of texts) await mail.sendMail({ to: 'a@b.test', subject: text, text, html: `<p>${escapeXml(text)}</p>` }); } },
  { name: 'GraphQL, executed', spill: async (texts) => { const { buildSchema, graphql } = load('graphql') as typeof graphqlPackage; const schema = buildSchema('type Query { note(text: String): String }'); for (const text of texts) { await graphql({ schema, source: `{ note(text: ${JSON.stringify(text)}) }` }); await graphql({ schema, source: 'query q($text: String) { note(text: $text) }', variableValues: { text } }); } } },
  { name: 'arguments of a process', spill: async (texts) => { for (const text of texts) await run('true', ['-x', text]); } },
  { name: 'options of a process', takes: (text) => text.includes(' --') && !text.startsWith('curl '), spill: async (texts) => { for (const text of texts) await run('true', text.split(' ').slice(1)); } },
  { name: 'span', spill: async (texts, { profiler }) => { for (const text of texts) await profiler.span(text, () => Promise.resolve()); } },
  { name: 'span, failed', spill: async (texts, { profiler }) => { for (const text of texts) await profiler.span('work', () => Promise.reject(new Error(text))).catch(() => undefined); } },
  { name: 'fact', spill: (texts, { profiler }) => { profiler.fact('notes', { notes: texts, ...fieldsOf(texts) }); } },
  { name: 'job, data', spill: (texts, { redis }) => jobsOf(redis, texts, () => true) },
  { name: 'job, name', spill: async (texts, { redis }) => { if (redis !== null) await runJobs(redis, texts.map((text) => ({ name: text, data: {} })), () => true); } },
  { name: 'job, result', spill: (texts, { redis }) => jobsOf(redis, texts, (text) => ({ notes: [text] })) },
  { name: 'job, error', spill: (texts, { redis }) => jobsOf(redis, texts, (text) => { throw new Error(text); }) },
  { name: 'job, log', spill: (texts, { redis }) => jobsOf(redis, texts, (text) => { console.debug(text); }) },
  { name: 'command, failed', most: 5, spill: async (texts, { profiler }) => { for (const text of texts) await profiler.record('command', 'import', () => Promise.reject(new Error(text))).catch(() => undefined); } },
  { name: 'command', most: 5, spill: async (texts, { profiler }) => { for (const text of texts) await profiler.record('command', text, () => Promise.resolve()); } },
]; // prettier-ignore

function memoryCache(): lruCachePackage.LRUCache<string, string | number> {
  const { LRUCache } = load('lru-cache') as typeof lruCachePackage;
  return new LRUCache({ max: 100 });
}

async function withRedisClient(
  path: string | null,
  work: (client: ioredisPackage.Redis) => Promise<void>,
): Promise<void> {
  if (path === null) return;
  const { Redis } = load('ioredis') as typeof ioredisPackage;
  const client = new Redis({ path });
  try {
    await work(client);
  } finally {
    client.disconnect();
  }
}

/** Each text is the data of a job that works on it. */
async function jobsOf(
  redis: string | null,
  texts: readonly string[],
  work: (text: string) => unknown,
): Promise<void> {
  if (redis === null) return;
  const jobs = texts.map((text) => ({ name: 'note', data: { note: text } }));
  await runJobs(redis, jobs, (data) => work((data as { note: string }).note));
}

declare module '../../app/profiler/record/facts.ts' {
  interface Facts {
    notes: Record<string, unknown>;
  }
}

/** A panel and a rule as an application adds them: what they take from its facts is masked like everything else. */
export const notesPanel: Panel = {
  name: 'notes',
  title: 'Notes',
  recorded: { facts: { notes: 'notes' } },
  collect: (context) => ({ facts: context.all('notes') }),
};
export const notesRule: FindingRule<{ notes: { facts: Record<string, unknown>[] } }> = {
  name: 'notes',
  needs: ['notes'],
  labels: ['notes'],
  why: 'It has notes.',
  fix: 'Write none.',
  find: ({ notes }) =>
    notes.facts.flatMap((fact) =>
      Object.values(fact).map((note) => ({
        label: 'notes',
        severity: 'info' as const,
        sentence: `A note: ${String(note)}`,
        panel: 'notes',
      })),
    ),
};

/** Texts of the request that is under way, for its handler. */
let current: { place: Place; texts: readonly string[] } | null = null;

export function createPlantRouter(spilling: () => Omit<Spilling, 'req' | 'res'>): Router {
  const router = Router();
  router.use('/plant/echo', (req, res) => {
    console.debug('echo', req.url, req.headers, req.body);
    res.json({ body: req.body as unknown, query: req.query });
  });
  router.get('/plant/spill', async (req, res) => {
    if (current === null) throw new Error('Nothing is planted.');
    await current.place.spill?.(current.texts, { req, res, ...spilling() });
    if (!res.headersSent) res.json({ done: true });
  });
  router.all('/plain', (_req, res) => {
    res.end('ok');
  });
  return router;
}

/** An example with a secret that tells place and example: what is left of it is found, wherever. */
function plantOf({ kind, example, secrets, text }: Example, place: number, at: number): Plant {
  const number = `${String(place).padStart(2, '0')}${String(at).padStart(3, '0')}`;
  const named = `Zq${number}hunter2Staple42x`;
  const planted = secrets.map((secret) => {
    if (secret.startsWith('hunter2Staple')) return [secret, named] as const;
    // The rest of a token, in its length: hexadecimal digits, as some have no others.
    if (secret.startsWith('0A1B2C3D')) return [secret, `0A1BFACE${number}CAFE${secret.slice(17)}`] as const;
    return [secret, secret] as const;
  });
  return {
    place: PLACES[place]?.name ?? '',
    kind,
    example,
    text: planted.reduce((before, [from, to]) => before.replaceAll(from, to), text),
    secrets: planted.map(([, to]) => to),
  };
}

export interface Planting {
  plants: readonly Plant[];
  path: string;
  init: RequestInit;
  /** To be called before and after the request. */
  begin(): void;
  end(): void;
}

/** Every request of the matrix. `every`: only each n-th example of a place, another one in each place. */
export function plantings({ every = 1 }: { every?: number } = {}): Planting[] {
  const security = readFileSync(join(import.meta.dirname, '../../docs/masking.md'), 'utf8');
  const examples = examplesOf(security, 'Masked values', 'Kind');
  return PLACES.flatMap((place, number) => {
    const { takes = () => true, most = 20 } = place;
    const plants = examples
      .map((example, at) => plantOf(example, number, at))
      .filter(({ text }, at) => (at + number) % every === 0 && takes(text));
    const made: Planting[] = [];
    for (let at = 0; at < plants.length; at += most) {
      const some = plants.slice(at, at + most);
      const texts = some.map(({ text }) => text);
      const { path, init = {} } = place.request?.(texts) ?? { path: '/plant/spill' };
      made.push({
        plants: some,
        path,
        init,
        begin: () => (current = { place, texts }),
        end: () => (current = null),
      });
    }
    return made;
  });
}

/** What is left of a planted secret in a text. */
export function leftOf({ secrets }: Plant, text: string): boolean {
  return secrets.some((secret) => {
    const trace = /Zq\d{5}h|FACE\d{5}CAFE/.exec(secret)?.[0] ?? secret;
    return text.includes(trace);
  });
}
