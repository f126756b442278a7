/**
 * What showing a profile costs the server: two pages of a request with sixty queries, against parsing the same document and
 * rendering the same panel by one bare template. The goal's figures are those of pages of different profiles, each read from
 * the storage; beside them is what the next page of a profile costs that was just shown. And what a plain profile takes in the database.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Bench } from '../harness/bench.ts';
import type { ProfileSchema } from '../harness/database.ts';
import type { Figure } from '../harness/figure.ts';
import { benchFolder, resultsFolder } from '../harness/folders.ts';
import { closedLoop } from '../harness/load.ts';
import { comparePairs, ratioOf } from '../harness/pairs.ts';
import { startProcess, type MeasuredProcess } from '../harness/process.ts';
import type { Row } from '../harness/row.ts';
import { spreadOf } from '../harness/statistics.ts';

const PROFILES = 3000;
/** Profiles whose pages are asked for in turn: more than are remembered of what came before them (app/profiler/profiles.ts). */
const SHOWN = 250;

async function recordedTokens(server: MeasuredProcess, path: string): Promise<string[]> {
  const tokens: string[] = [];
  for (let number = 0; number < SHOWN; number++) {
    const answer = await fetch(`http://127.0.0.1:${server.port}${path}`);
    await answer.text();
    tokens.push(answer.headers.get('x-debug-token') ?? '');
  }
  await sleep(1500);
  return tokens;
}

async function documentOf(bench: Bench, { schema }: ProfileSchema, token: string): Promise<string> {
  const { knex } = await bench.database();
  const row: unknown = await knex(`${schema}.hindsight_profiles`).where({ token }).first('document');
  return (row as { document: string }).document;
}

async function comparePages(bench: Bench, server: MeasuredProcess, base: MeasuredProcess, path: string[]) {
  const { pairs, sliceMs, warmUp } = bench.options;
  const found = await comparePairs(base, server, { path, pairs, sliceMs, warmUp });
  return {
    ratio: ratioOf(found, ({ cpuAll }) => cpuAll),
    base: spreadOf(found.map(({ base }) => base.cpuAll)),
  };
}

export const page: Row = {
  name: 'page',
  what: 'CPU of a profile page, against parsing and one bare template',
  async run(bench): Promise<Figure[]> {
    const profiles = await (await bench.database()).freshSchema();
    const server = await bench.serve('hindsight', { queries: true, profiles });
    const tokens = await recordedTokens(server, '/many');
    const document = await documentOf(bench, profiles, tokens[0] ?? '');
    const file = join(resultsFolder, 'document.json');
    writeFileSync(file, document);
    const base = await startProcess({
      file: join(benchFolder, 'apps', 'document.cjs'),
      env: { BENCH_DOCUMENT: file },
    });
    const figures: Figure[] = [];
    const kilobytes = Math.round(document.length / 1024);
    try {
      for (const panel of ['request', 'database']) {
        const paths = tokens.map((token) => `/_profiler/${token}?panel=${panel}`);
        const different = await comparePages(bench, server, base, paths);
        const next = await comparePages(bench, server, base, paths.slice(0, 1));
        figures.push(
          {
            goal: 13,
            what: `page "${panel}" of profiles of ${kilobytes} KB`,
            unit: 'x',
            value: different.ratio.median,
            spread: different.ratio,
            must: 5,
            aim: 2.5,
          },
          {
            goal: null,
            what: '  of the profile that was just shown',
            unit: 'x',
            value: next.ratio.median,
            spread: next.ratio,
          },
          {
            goal: null,
            what: '  parsing and a bare page',
            unit: 'µs',
            value: different.base.median,
            spread: different.base,
          },
        );
      }
      return figures;
    } finally {
      await base.stop();
      await server.stop();
    }
  },
};

export const bytes: Row = {
  name: 'bytes',
  what: 'bytes of a plain profile in PostgreSQL, indexes included',
  async run(bench): Promise<Figure[]> {
    const { knex, ...database } = await bench.database();
    const profiles = await database.freshSchema();
    const server = await bench.serve('hindsight', { profiles });
    await closedLoop({ port: server.port, path: '/' }, { requests: PROFILES });
    await server.stop();
    const table = `${profiles.schema}.hindsight_profiles`;
    const { rows } = await knex.raw<{ rows: { count: number; size: string; document: number }[] }>(
      `select count(*)::int as count, avg(octet_length(document))::float8 as document,
         pg_total_relation_size(?::regclass) as size from ??`,
      [table, table],
    );
    const { count = 0, size = '0', document = 0 } = rows[0] ?? {};
    return [
      {
        goal: 15,
        what: 'stored bytes of a plain profile',
        unit: 'KB',
        value: Number(size) / count / 1024,
        must: 3,
        aim: 1.5,
      },
      { goal: null, what: `  its document as text, of ${count}`, unit: 'KB', value: document / 1024 },
    ];
  },
};
