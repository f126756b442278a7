/**
 * `npm run stress -- secrets [--places=log,SQL --every=1]`: plants each example of docs/masking.md's table in each place that a request can
 * carry it (`--every=4`: a fourth of them), through the whole service on a real PostgreSQL and Redis, and looks for it in everything that the
 * profiler stores, shows or writes: rows, pages, JSON, Markdown, HAR, the command line, the MCP server, the files of VAR_DIR and its own
 * output. Prints what was found; ends with 1 if that is anything.
 */
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { Profiler } from '../app/index.ts';
import { createService, readConfig, type Service, type Services } from '../app/service.ts';
import { runCli } from '../test/support/cli.ts';
import {
  createPlantRouter,
  leftOf,
  notesPanel,
  notesRule,
  type Plant,
  plantings,
  type Planting,
} from './secrets/planted.ts';
import { environmentOf, freshVarDir, openKnex, startPostgres } from '../test/support/postgres.ts';
import { sharedPart } from '../test/support/shared-part.ts';

const { values: options } = parseArgs({
  options: { places: { type: 'string', default: '' }, every: { type: 'string', default: '1' } },
});

interface Asked extends Planting {
  token: string;
  response: string;
}

type Found = Plant & { where: string };

function profilerOf({ profiler }: Service): Profiler {
  if (profiler === null) throw new Error('The service has no profiler.');
  return profiler;
}

/** Milliseconds after which a process without its database has everything in its files. */
const LEFT_AFTER = 4000;

/** Text of every file below a folder. */
function filesBelow(folder: string): string {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path, { throwIfNoEntry: false })?.isFile() === true)
    .map((path) => readFileSync(path, 'latin1'))
    .join('\n');
}

export async function main(): Promise<void> {
  const database = await startPostgres();
  const redis = await sharedPart<string>('redis');
  const varDir = freshVarDir();
  writeFileSync(join(varDir, 'planted.ejs'), '<p><%= notes.length %></p>');
  const output: string[] = [];
  const write = process.stdout.write.bind(process.stdout);
  const writeError = process.stderr.write.bind(process.stderr);
  let services: Services;
  let origin = '';
  // The service takes its way out when it is created. What handlers print later goes elsewhere.
  process.stdout.write = (chunk) => output.push(String(chunk)) > 0;
  const config = readConfig({ ...environmentOf(database.connection), VAR_DIR: varDir, PORT: '0' });
  const profilerOptions = { ...config.profiler, panels: [notesPanel], findings: [notesRule] };
  const service = createService({
    config: { ...config, profiler: profilerOptions },
    routes: [
      {
        mount: '/',
        parsers: 'after',
        router: (given) => {
          services = given;
          return createPlantRouter(() => ({ services, profiler: profilerOf(service), origin, redis }));
        },
      },
    ],
    viewFolders: [varDir],
    migrationsFolder: varDir,
    log: (line) => output.push(`${line}\n`),
  });
  process.stdout.write = () => true;
  process.stderr.write = () => true;
  const found: Found[] = [];
  const looked: Record<string, number> = {};
  const asked: Asked[] = [];

  function look(where: string, text: string, plants: readonly Plant[]): void {
    looked[where] = (looked[where] ?? 0) + 1;
    for (const plant of plants) if (leftOf(plant, text)) found.push({ ...plant, where });
  }

  async function get(path: string): Promise<string> {
    const response = await fetch(`${origin}${path}`, { redirect: 'manual' });
    return `${JSON.stringify([...response.headers])}\n${await response.text()}`;
  }

  async function ask(planting: Planting): Promise<void> {
    planting.begin();
    const response = await fetch(`${origin}${planting.path}`, { redirect: 'manual', ...planting.init });
    const text = await response.text();
    planting.end();
    const token = response.headers.get('x-debug-token') ?? '';
    asked.push({ ...planting, token, response: text });
    if (response.status >= 400) look('error page', text, planting.plants);
  }

  async function runCommandLine(args: readonly string[]): Promise<string> {
    const { stdout, stderr } = await runCli(['--url', origin, ...args]);
    return stdout + stderr;
  }

  async function askMcp(name: string, args: Record<string, unknown>): Promise<string> {
    const response = await fetch(`${origin}/_profiler/mcp`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name, arguments: args },
      }),
    });
    return response.text();
  }

  /** `isFirst` of its place: every page; of the others what holds the whole profile. */
  async function read(
    { token, plants }: Asked,
    { next, isFirst }: { next: string; isFirst: boolean },
  ): Promise<void> {
    const json = await get(`/_profiler/${token}.json`);
    look('JSON', json, plants);
    // What lies beside it has been read; each of these only waits for the database.
    await Promise.all([
      get(`/_profiler/${token}.md`).then((text) => look('Markdown', text, plants)),
      get(`/_profiler/${token}.md?length=short`).then((text) => look('Markdown', text, plants)),
      askMcp('get_request', { token }).then((text) => look('MCP', text, plants)),
      get(`/_profiler/${token}.har`).then((text) => look('HAR', text, plants)),
      // With the request as a test, if it has a fault.
      get(`/_profiler/${token}?panel=request&all=1`).then((text) => look('page', text, plants)),
      runCommandLine(['show', token]).then((text) => look('command line', text, plants)),
    ]);
    if (!isFirst) return;
    const { profile } = JSON.parse(json.slice(json.indexOf('\n') + 1)) as { profile: { panels: object } };
    for (const panel of Object.keys(profile.panels))
      look('page', await get(`/_profiler/${token}?panel=${panel}&all=1`), plants);
    for (const form of ['toolbar', 'toolbar.json'])
      look('toolbar', await get(`/_profiler/${token}/${form}`), plants);
    look('comparison', await get(`/_profiler/compare?a=${token}&b=${next}&all=1`), plants);
    look('command line', await runCommandLine(['compare', token, next]), plants);
    look('command line', await runCommandLine(['why', token]), plants);
    look('MCP', await askMcp('compare', { a: token, b: next }), plants);
    look('MCP', await askMcp('why_404', { token }), plants);
    look('MCP', await askMcp('get_request', { token, panels: Object.keys(profile.panels) }), plants);
  }

  /** Profiles of jobs and commands: nobody got their tokens. */
  async function readWork(kind: string, plants: readonly Plant[]): Promise<void> {
    const list = await get(`/_profiler/search.json?kind=${kind}&limit=200`);
    look('list', list, plants);
    const { profiles } = JSON.parse(list.slice(list.indexOf('\n') + 1)) as { profiles: { token: string }[] };
    for (const { token } of profiles)
      for (const form of ['.json', '.md', '.har', '?panel=overview', '?panel=exception'])
        look(kind, await get(`/_profiler/${token}${form}`), plants);
  }

  /** While the database is away, what is recorded goes to files. Places that need it are left out. */
  async function lookIntoFiles(all: readonly Planting[], plants: readonly Plant[]): Promise<void> {
    await database.halt('SIGQUIT');
    for (const planting of all)
      if (planting.plants[0]?.place.startsWith('SQL') === false) await ask(planting);
    await sleep(LEFT_AFTER);
    const left = filesBelow(join(varDir, 'profiles'));
    if (!left.includes('"token"')) throw new Error('Nothing is in the files.');
    look('files', left, plants);
    await database.resume();
  }

  try {
    service.server.listen(0, '127.0.0.1');
    await once(service.server, 'listening');
    origin = `http://127.0.0.1:${(service.server.address() as AddressInfo).port}`;
    await service.openDatabase();
    const wanted = options.places.split(',');
    const all = plantings({ every: Number(options.every) }).filter(({ plants }) =>
      wanted.some((name) => plants[0]?.place.includes(name)),
    );
    for (const planting of all) await ask(planting);
    const placeOf = (one: Asked | undefined): string => one?.plants[0]?.place ?? '';
    for (const [at, one] of asked.entries()) {
      const before = asked[at - 1];
      await read(one, { next: before?.token ?? one.token, isFirst: placeOf(before) !== placeOf(one) });
    }
    const everything = asked.flatMap(({ plants }) => plants);
    // Values without a number of their own, such as cards, stand in the requests' own pages or nowhere.
    const numbered = everything.filter(({ text }) => /Zq\d{5}h|FACE\d{5}CAFE/.test(text));
    for (const path of [
      'search?limit=200',
      'search.json?limit=200',
      'routes?since=all',
      'search?has=error&limit=200',
    ])
      look('list', await get(`/_profiler/${path}`), numbered);
    for (const args of [['list', '-n', '200'], ['list', 'has:error', '-f', 'json'], ['why']])
      look('command line', await runCommandLine(args), numbered);
    for (const name of ['list_requests', 'latest_failure', 'explain_slow', 'why_404', 'routes'])
      look('MCP', await askMcp(name, {}), numbered);
    for (const kind of ['job', 'command']) await readWork(kind, numbered);
    await lookIntoFiles(all, numbered);
    await service.close();
    const knex = openKnex(database.connection);
    const tables = await knex.raw<{ rows: { name: string }[] }>(
      "select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname = 'localhost'",
    );
    let stored = '';
    for (const { name } of tables.rows) {
      const { rows } = await knex.raw<{ rows: { text: string }[] }>(`select t::text as text from ${name} t`);
      stored += rows.map(({ text }) => text).join('\n');
    }
    await knex.destroy();
    look('database', stored, numbered);
    look('files', filesBelow(varDir), numbered);
    look('own output', output.join(''), numbered);
    report(everything);
  } finally {
    await database.stop();
    rmSync(varDir, { recursive: true, force: true });
  }

  function report(planted: readonly Plant[]): void {
    process.stdout.write = write;
    process.stderr.write = writeError;
    const places = new Set(planted.map(({ place }) => place));
    const seen = Object.entries(looked).map(([where, count]) => `${count} × ${where}`);
    console.log(
      `${planted.length} secrets of ${new Set(planted.map(({ example }) => example)).size} examples in ${places.size} places, ${asked.length} requests.`,
    );
    console.log(`Looked through ${seen.join(', ')}.`);
    const byPlant = new Map<string, Set<string>>();
    for (const { place, kind, text, where } of found) {
      const key = `${place}: ${text} (${kind.slice(0, 60)})`;
      byPlant.set(key, (byPlant.get(key) ?? new Set()).add(where));
    }
    for (const [key, where] of byPlant) console.log(`FOUND ${key} in ${[...where].join(', ')}`);
    console.log(`Found: ${byPlant.size}.`);
    if (byPlant.size > 0) process.exitCode = 1;
  }
}
