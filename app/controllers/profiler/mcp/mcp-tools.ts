/**
 * The tools of the MCP server: Markdown for coding agents, from the same readers as the pages. Results contain text recorded from requests,
 * so they are data, never instructions; `mcp-controller.ts` says so above each result.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { createError } from '../../../errors.ts';
import { dataOf } from '../../../panels/shared/panel-data.ts';
import type { ProfileIndex } from '../../../profiler/store/profile-index.ts';
import type { ProfileQuery } from '../../../profiler/store/storage.ts';
import { count, timestampText } from '../../../view-helpers/numbers.ts';
import { readBeside } from '../beside-profile.ts';
import { compareMarkdown } from '../compare/compare-rows.ts';
import { compareProfiles } from '../compare/compare-profiles.ts';
import { cpuFormOf } from '../cpu-form.ts';
import { blocks, code, prose } from '../../../view-helpers/markdown.ts';
import { cutMarkdown, cutSections } from '../cut-markdown.ts';
import { HAS, readFilters } from '../list/filters.ts';
import { requestsTable } from '../list/list-markdown.ts';
import type { PageServices } from '../page-services.ts';
import { profileMarkdown } from '../profile-markdown.ts';
import { inTurns } from '../../../profiler/turns.ts';
import { hasContent, OVERVIEW, readShown, type ShownProfile } from '../profile-model.ts';
import { requireNamedProfile } from '../require-profile.ts';
import { readRoutesFilters, summaryQuery } from '../routes/routes-filters.ts';
import { routesTable } from '../routes/routes-markdown.ts';
import { readShortMarkdown } from '../short-markdown.ts';

type Schema = Readonly<Record<string, unknown>>;
export type Arguments = Readonly<Record<string, unknown>>;

export interface Call {
  args: Arguments;
  origin: string | null;
  server: string | null;
  signal: AbortSignal;
}

export interface McpTool {
  name: string;
  title: string;
  description: string;
  properties: Readonly<Record<string, Schema>>;
  required?: readonly string[];
  annotations?: Readonly<Record<string, boolean>>;
  run(call: Call): Promise<string>;
}

const PER_TOKEN = 4;
const DEFAULT_TOKENS = 3000;
const MOST_TOKENS = 20_000;
const DEFAULT_ROWS = 15;
const MOST_ROWS = 50;
const DEFAULT_WAIT = 20;
const LONGEST_WAIT = 55;
const ASK_EVERY_MS = 300;
/** At a time: each asks the store several times a second. */
const MOST_WAITS = 20;

const TEXT = { type: 'string' };
export const TOKEN = {
  type: 'string',
  description: 'Token of a request (six hexadecimal digits), or the address of its profile.',
};
const BUDGET = {
  type: 'integer',
  minimum: 200,
  maximum: MOST_TOKENS,
  description: `Approximate length of the result in tokens; default ${DEFAULT_TOKENS}.`,
};
const ROUTE = { ...TEXT, description: 'Pattern of the route, exactly: /orders/:id, or GET /orders/:id' };
const FILTERS = {
  url: { ...TEXT, description: 'Part of the URL, or the whole address.' },
  method: TEXT,
  status: {
    ...TEXT,
    description: 'A status such as 404, a class such as 5xx, a list such as 404,500, or >=400.',
  },
  route: ROUTE,
  text: {
    ...TEXT,
    description: 'Occurs in the URL, in what was thrown, or in queries, log lines and calls.',
  },
  over: { type: 'number', minimum: 0, description: 'Took longer than this many milliseconds.' },
  queries: { type: 'integer', minimum: 0, description: 'Ran at least this many queries.' },
  has: {
    type: 'string',
    enum: Object.keys(HAS),
  },
  since: { type: 'string', description: 'Such as 15m, 6h or 7d. Default: all.' },
  limit: { type: 'integer', minimum: 1, maximum: MOST_ROWS, description: `Default: ${DEFAULT_ROWS}.` },
} satisfies Record<string, Schema>;

const METHOD_BEFORE = /^([A-Z]{3,10})\s+(?=\/|https?:)/i;
const ORIGIN = /^https?:\/\/[^/?#]*/i;

function askedFor(args: Arguments): Arguments {
  const asked: Record<string, unknown> = { ...args };
  for (const name of ['url', 'route']) {
    const value = asked[name];
    if (typeof value !== 'string') continue;
    const [before = '', method] = METHOD_BEFORE.exec(value.trim()) ?? [];
    if (method !== undefined) asked.method ??= method.toUpperCase();
    const path = value.trim().slice(before.length).replace(ORIGIN, '').replace(/#.*$/s, '');
    asked[name] = path.length > 1 ? path.replace(/\/$/, '') : path;
  }
  return asked;
}

function paramsOf(args: Arguments, names: readonly string[]): URLSearchParams {
  const params = new URLSearchParams();
  const asked = askedFor(args);
  for (const name of names) {
    const value = asked[name];
    if (typeof value === 'string' || typeof value === 'number') params.set(name, String(value));
  }
  return params;
}

const FILTER_NAMES = [...Object.keys(FILTERS), 'sort', 'order'];

function queryOf(args: Arguments): ProfileQuery {
  return readFilters(paramsOf(args, FILTER_NAMES)).query;
}

function textOf(args: Arguments, name: string): string | null {
  const value = args[name];
  return typeof value === 'string' && value !== '' ? value : null;
}

function longestOf({ max_tokens: tokens }: Arguments): number {
  return (typeof tokens === 'number' ? tokens : DEFAULT_TOKENS) * PER_TOKEN;
}

function howToGetMore(tool: string, args: Arguments, length: number): string {
  const max_tokens = Math.min(MOST_TOKENS, Math.ceil(length / PER_TOKEN / 100) * 100);
  return `For the rest: ${code(`${tool} ${JSON.stringify({ ...args, max_tokens })}`)}`;
}

const BLOCKED_MS = 50;
const HOW_TO_GET_CPU =
  'No CPU profile of it was taken: `cpu_profile` with its token names the function and the line that blocked.';

export function createMcpTools(services: PageServices): McpTool[] {
  const { profiles, panels, cpu, replay } = services;

  let waiting = 0;

  async function read(given: string | null): Promise<ShownProfile> {
    return readShown(services, await requireNamedProfile(services, given));
  }

  const shorten = (tool: string, markdown: string, { args }: Call): string =>
    cutMarkdown(markdown, longestOf(args), howToGetMore(tool, args, markdown.length));

  async function short(token: string | null, { args, origin }: Call): Promise<string> {
    const shown = await read(token);
    const text = await readShortMarkdown(services, shown, { origin, longest: longestOf(args) });
    return isCpuUnknown(shown) ? `${text}\n${HOW_TO_GET_CPU}\n` : text;
  }

  function isCpuUnknown({ profile, amendments }: ShownProfile): boolean {
    if (replay === 'off' || cpuFormOf(profile, cpu) === null || amendments.sampled !== undefined)
      return false;
    return !hasContent(profile, 'cpu') && (dataOf(profile, 'runtime')?.totals.blockedMs ?? 0) >= BLOCKED_MS;
  }

  async function panelsMarkdown(shown: ShownProfile, names: readonly string[]): Promise<string> {
    const wanted = shown.panels.filter(({ name }) => names.includes(name));
    if (wanted.length === 0) {
      const recorded = shown.panels
        .filter(({ name }) => hasContent(shown.profile, name))
        .map(({ name }) => name);
      throw createError('BAD_FILTER', [
        'panels',
        `is ${JSON.stringify(names.join(', '))}; this request has ${recorded.join(', ')}`,
      ]);
    }
    const beside = names.includes(OVERVIEW) ? await readBeside(services, shown) : undefined;
    return inTurns(profileMarkdown(shown, { panels: wanted, beside }));
  }

  async function findRows(args: Arguments): Promise<ProfileIndex[]> {
    const { rows, notice, isAway } = await profiles.find(queryOf({ limit: DEFAULT_ROWS, ...args }));
    if (rows.length === 0 && isAway) throw createError('STORAGE_UNAVAILABLE', [notice ?? '']);
    return rows;
  }

  async function newest(
    call: Call,
    changes: Readonly<Record<string, string>>,
    none: string,
  ): Promise<string> {
    const rows = await findRows({ ...call.args, ...changes });
    const { url: path } = askedFor(call.args);
    const row = rows.find(({ url }) => url.replace(/\/?(?:\?.*)?$/, '') === path) ?? rows[0];
    return row === undefined ? `${none} ${await lookedAt(call.args)}` : short(row.token, call);
  }

  async function lookedAt(args: Arguments): Promise<string> {
    const asked = askedFor(args);
    const names = ['url', 'route', 'method', 'since'].filter((name) => asked[name] !== undefined);
    const of = (given: Arguments) => profiles.find(queryOf({ limit: 3, ...given }));
    const filters = Object.fromEntries(names.map((name) => [name, asked[name]]));
    const [matching, refused, all] = await Promise.all([
      of(filters),
      of({ ...filters, status: '4xx' }),
      of({}),
    ]);
    const said = names.map((name) => `${name} ${String(asked[name])}`).join(', ');
    if (matching.rows.length === 0)
      return `Nothing matches ${said === '' ? 'at all: no request is recorded yet' : said}${all.total > 0 ? `; ${count(all.total, 'request')} recorded in all` : ''}.`;
    const lines = refused.rows.map(
      ({ token, method, url, status }) => `${method} ${url} answered ${status ?? ''}: get_request ${token}`,
    );
    return [`${count(matching.total, 'request')} looked at; ${count(refused.total)} of them answered 4xx.`, ...lines.map((line) => `- ${code(line)}`)].join('\n'); // prettier-ignore
  }

  async function statusText(): Promise<string> {
    const of = (given: Arguments) => profiles.find(queryOf({ limit: 1, ...given }));
    const [newestOnes, oldest, summaries, failures, findings, { process, storage, application }] =
      await Promise.all([
        of({}),
        of({ order: 'asc' }),
        of({ has: 'summary' }),
        of({ has: 'error' }),
        of({ has: 'finding' }),
        services.health(),
      ]);
    const pausedAt = services.recording.pausedAt();
    const [first, last] = [oldest.rows[0], newestOnes.rows[0]];
    const lost = Object.entries({ ...application.dropped, ...application.leftOut });
    const pointer = (what: string, { rows }: { rows: readonly ProfileIndex[] }): string[] =>
      rows.map(
        ({ token, method, url, startedAt }) =>
          `- ${what}: get_request ${code(token)} (${code(`${method} ${url}`)}, ${timestampText(startedAt)})`,
      );
    return blocks([
      services.isStored
        ? 'The application is not running, or runs elsewhere. These are its stored requests.'
        : `The application runs: process ${code(process)}, profiles in ${storage.name}.`,
      first === undefined || last === undefined
        ? 'No request is recorded yet.'
        : `${count(newestOnes.total, 'request')} recorded, from ${timestampText(first.startedAt)} to ${timestampText(last.startedAt)}${summaries.total === 0 ? '' : `, ${count(summaries.total)} of them as a summary`}. ${services.retention()}`,
      [newestOnes.notice, storage.notice, storage.failing ? 'Storing fails at the moment.' : null]
        .flatMap((sentence) => (sentence === null ? [] : prose(sentence)))
        .join(' '),
      pausedAt === null
        ? ''
        : `Recording has been paused since ${timestampText(pausedAt)}; nothing new is recorded.`,
      lost.length === 0
        ? ''
        : `Not stored by this process: ${lost.map(([reason, times]) => `${times} (${prose(reason)})`).join(', ')}.`,
      [...pointer('Newest failure', failures), ...pointer('Newest finding', findings)].join('\n'),
    ]);
  }

  const some = ({ url, route, since }: typeof FILTERS) => ({ url, route, since, max_tokens: BUDGET });

  return [
    {
      name: 'status',
      title: 'What is recorded',
      description:
        'Whether the application runs, the stored requests, since when and where, whether anything is missing, and the newest failure. ' +
        'Ask it if another tool finds nothing.',
      properties: {},
      run: statusText,
    },
    {
      name: 'list_requests',
      title: 'List requests',
      description:
        'Recorded requests, newest first, with status, time, number of queries, error and findings.',
      properties: FILTERS,
      async run({ args }) {
        const rows = await findRows(args);
        if (rows.length > 0) return requestsTable(rows);
        return `No recorded request matches. ${await lookedAt(args)}`;
      },
    },
    {
      name: 'get_request',
      title: 'Show a request',
      description:
        'One request: what is wrong with it, with the line of code, the statement and its values, and where its time went. ' +
        'Name panels (exception, request, timeline, logs, routing, database, http_client, views, runtime, …) to get those in full.',
      properties: {
        token: TOKEN,
        panels: {
          type: 'array',
          items: TEXT,
          maxItems: 20,
          description: 'Names of panels; default: a summary.',
        },
        max_tokens: BUDGET,
      },
      required: ['token'],
      async run(call) {
        const { panels: named } = call.args;
        const names = Array.isArray(named) ? named.filter((name) => typeof name === 'string') : [];
        const token = textOf(call.args, 'token');
        if (names.length === 0) return short(token, call);
        const markdown = await panelsMarkdown(await read(token), names);
        const advice = howToGetMore('get_request', call.args, markdown.length);
        return cutSections(markdown, longestOf(call.args), advice);
      },
    },
    {
      name: 'latest_failure',
      title: 'Explain the latest failure',
      description:
        'The newest request that threw or got a 5xx: the error with its causes, the line of code with its source, ' +
        'and the work of the request before it. Usually enough to fix it.',
      properties: some(FILTERS),
      run: (call) => newest(call, { has: 'error' }, 'No matching request threw an error or got a 5xx.'),
    },
    {
      name: 'explain_slow',
      title: 'Explain the slowest request',
      description:
        'The slowest recorded request, of a route or a URL if one is given: its slow parts, with the line of code, and how long ' +
        'the route usually takes. Default: of the last 24 hours.',
      properties: some(FILTERS),
      run: (call) =>
        newest(
          { ...call, args: { since: '24h', ...call.args } },
          { sort: 'time', order: 'desc' },
          'No matching request was recorded in that time.',
        ),
    },
    {
      name: 'why_404',
      title: 'Explain a 404 or 405',
      description:
        'Which routes came closest to the newest request without a route, or to the one given, and where each differs.',
      properties: { token: TOKEN, url: FILTERS.url, max_tokens: BUDGET },
      async run(call) {
        const given = textOf(call.args, 'token');
        const missed =
          given === null
            ? (await findRows({ ...call.args, status: '4xx', limit: MOST_ROWS })).find(
                ({ status, route }) => (status === 404 || status === 405) && route === null,
              )?.token
            : given;
        if (missed === undefined)
          return `No matching request got a 404 or 405 for lack of a route. ${await lookedAt(call.args)}`;
        return shorten('why_404', await panelsMarkdown(await read(missed), ['routing']), call);
      },
    },
    {
      name: 'compare',
      title: 'Compare two requests',
      description:
        'The differences between two requests: times, queries, calls, values and findings. For a change, before and after.',
      properties: { a: TOKEN, b: TOKEN, max_tokens: BUDGET },
      required: ['a', 'b'],
      async run(call) {
        const { args } = call;
        const [a, b] = await Promise.all([read(textOf(args, 'a')), read(textOf(args, 'b'))]);
        if (a.profile.token === b.profile.token)
          throw createError('BAD_FILTER', ['b', 'is the same request as a; give two tokens']);
        const markdown = compareMarkdown(a.profile, b.profile, {
          comparison: await compareProfiles(a, b, panels),
          repeated: null,
        });
        return shorten('compare', markdown, call);
      },
    },
    {
      name: 'wait_for_next',
      title: 'Wait for the next request',
      description:
        'Waits for a request that starts from now on and matches, and explains it once it has ended: call it, then send the request.',
      properties: {
        ...some(FILTERS),
        method: FILTERS.method,
        status: FILTERS.status,
        seconds: {
          type: 'integer',
          minimum: 1,
          maximum: LONGEST_WAIT,
          description: `How long to wait; default ${DEFAULT_WAIT}.`,
        },
      },
      async run(call) {
        const { args, signal } = call;
        const seconds = typeof args.seconds === 'number' ? args.seconds : DEFAULT_WAIT;
        const asked = queryOf({ ...args, limit: 1, order: 'asc', since: undefined });
        const query = { ...asked, from: Date.now(), counted: false as const };
        const until = performance.now() + seconds * 1000;
        if (waiting >= MOST_WAITS)
          throw createError('BAD_REQUEST', [
            `${MOST_WAITS} agents wait already; try again when one of them is done.`,
          ]);
        waiting++;
        try {
          while (performance.now() < until && !signal.aborted) {
            const [row] = (await profiles.find(query)).rows;
            if (row?.state === 'final') return await short(row.token, call);
            await sleep(ASK_EVERY_MS, undefined, { ref: false });
          }
        } finally {
          waiting--;
        }
        return `No matching request ended within ${count(seconds, 'second')}.`;
      },
    },
    {
      name: 'routes',
      title: 'List routes',
      description:
        'Routes by the time they take: number of requests, errors, median and 95th percentile, queries, frequent findings.',
      properties: {
        since: { type: 'string', enum: ['15m', '1h', '24h', 'all'], description: 'Default: 1h.' },
      },
      async run({ args }) {
        const query = summaryQuery(readRoutesFilters(paramsOf(args, ['since'])), Date.now());
        return routesTable(await profiles.summarize(query), MOST_ROWS);
      },
    },
  ];
}
