/** Starts a copy of the shop with a fault planted, and asks it. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { resultsFolder, rootFolder } from '../../bench/harness/folders.ts';
import type { TestConnection } from '../../test/support/postgres.ts';
import type { Answer, Fault, Shop } from './fault.ts';

const START_WITHIN = 60_000;
const ANSWER_WITHIN = 10_000;

export interface RunningShop extends Shop {
  origin: string;
  /** `file:line` of the places of the fault. */
  places: string[];
  /** The findings of a profile, as its Markdown has them: one line each. */
  findingsOf(token: string): Promise<string[]>;
  stop(): Promise<void>;
}

function plant(folder: string, { change = [] }: Pick<Fault, 'change'>): void {
  for (const [file, before, after] of change) {
    const path = join(folder, file);
    const text = readFileSync(path, 'utf8');
    if (text.split(before).length !== 2) throw new Error(`${file} has “${before}” not exactly once.`);
    writeFileSync(
      path,
      text.replace(before, () => after),
    );
  }
}

function placesOf(folder: string, at: Fault['at']): string[] {
  return at.map((place) => {
    const colon = place.indexOf(': ');
    const file = place.slice(0, colon);
    const text = place.slice(colon + 2);
    const whole = readFileSync(join(folder, file), 'utf8');
    const index = whole.indexOf(text);
    if (index === -1) throw new Error(`${file} has no “${text}”.`);
    return `${file}:${whole.slice(0, index).split('\n').length}`;
  });
}

/** The folder has the same name whatever is planted: it is in places and stacks. */
export async function startShop(
  fault: Pick<Fault, 'change' | 'at'>,
  { database, partnerUrl, name }: { database: TestConnection; partnerUrl: string; name: string },
): Promise<RunningShop> {
  const run = join(resultsFolder, 'insight', name);
  const folder = join(run, 'shop');
  // With the profiles of the shop before this one.
  rmSync(run, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  cpSync(join(rootFolder, 'stress', 'insight', 'shop'), folder, { recursive: true });
  plant(folder, fault);
  const places = placesOf(folder, fault.at);
  const { NODE_ENV: _name, PROFILER_CPU: _cpu, ...environment } = process.env;
  const child = fork(join(folder, 'server.js'), {
    cwd: folder,
    execArgv: [],
    env: {
      ...environment,
      PGHOST: database.host,
      PGPORT: String(database.port),
      PGUSER: database.user,
      PGDATABASE: database.database,
      PGPASSWORD: database.password ?? '',
      PARTNER_URL: partnerUrl,
      PROFILER_DIR: join(run, 'profiles'),
    },
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  let printed = '';
  child.stderr?.on('data', (chunk: Buffer) => (printed += chunk.toString()));
  const ended = once(child, 'exit');
  const [message] = (await Promise.race([
    once(child, 'message', { signal: AbortSignal.timeout(START_WITHIN) }),
    ended.then(() => {
      throw new Error(`The shop ended: ${printed}`);
    }),
  ])) as [{ port: number }];
  const origin = `http://127.0.0.1:${message.port}`;

  async function get(path: string, init: RequestInit = {}): Promise<Answer> {
    const startedAt = performance.now();
    printed = '';
    let status = 0;
    let headers = new Headers();
    let text = '';
    try {
      const signal = AbortSignal.timeout(ANSWER_WITHIN);
      const response = await fetch(`${origin}${path}`, { redirect: 'manual', signal, ...init });
      ({ status, headers } = response);
      text = await response.text();
    } catch {
      // What had come by then is the answer.
    }
    const ms = performance.now() - startedAt;
    const token = headers.get('x-debug-token') ?? (await latest(path));
    return { path, status, headers, text, ms, token, printed: () => printed };
  }

  /** Of a request that got no response. */
  async function latest(path: string): Promise<string> {
    const response = await fetch(`${origin}/_profiler/search.json?url=${encodeURIComponent(path)}`);
    const { profiles = [] } = (await response.json()) as { profiles?: { token: string }[] };
    return profiles[0]?.token ?? '';
  }

  return {
    origin,
    places,
    get,
    post: (path, body, init = {}) =>
      get(path, {
        method: 'POST',
        ...init,
        headers: { 'content-type': 'application/json', ...(init.headers as Record<string, string>) },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      }),
    async findingsOf(token) {
      const page = `${origin}/_profiler/${token}.md`;
      // Express destroys the socket of a request that fails after its headers; the first to reuse it finds out.
      const response = await fetch(page).catch(() => fetch(page));
      const markdown = await response.text();
      if (!response.ok) throw new Error(`No profile ${token}: ${response.status}`);
      const [, found = ''] = /^## Findings\n([^]*?)(?=\n\nWhy they are flagged|\n## )/m.exec(markdown) ?? [];
      return found
        .split('\n')
        .filter((line) => line.startsWith('- '))
        .map((line) => line.replace(/[\\`*]/g, '').slice(2));
    },
    async stop() {
      if (child.exitCode === null && child.signalCode === null) {
        child.send('stop', () => undefined);
        await ended;
      }
    },
  };
}
