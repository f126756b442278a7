/** What is stored, seen from outside: every row by SQL in blocks of tokens, and a sample through another process's pages. */
import type { Knex } from 'knex';
import type { Account } from './account.ts';
import { SCHEMA } from './place.ts';

const BLOCKS = 256;
/** Milliseconds between two looks at how many there are. */
const LOOK_EVERY = 50;

interface Row {
  token: string;
  bytes: number;
}

/** Books every stored profile whose document is there. */
export async function bookStored(knex: Knex, account: Account): Promise<void> {
  for (let block = 0; block < BLOCKS; block++) {
    const start = block.toString(16).padStart(2, '0');
    const { rows } = await knex.raw<{ rows: Row[] }>(
      `select token, octet_length(document) as bytes from ??.hindsight_profiles
       where kind <> 'profiler' and token between ? and ?`,
      [SCHEMA, `${start}0000`, `${start}ffff`],
    );
    for (const { token, bytes } of rows) if (bytes > 0) account.store(token);
  }
}

/** SQLSTATE: undefined_table; the service has not made it yet. */
const NO_TABLE = '42P01';

async function countStored(knex: Knex): Promise<number> {
  const { rows } = await knex.raw<{ rows: { count: number }[] }>(
    `select count(*)::int as count from ??.hindsight_profiles where kind <> 'profiler'`,
    [SCHEMA],
  );
  return rows[0]?.count ?? 0;
}

/** Milliseconds until `count` profiles are seen by another session; null where that takes longer than `withinMs`. */
export async function untilVisible(knex: Knex, count: number, withinMs: number): Promise<number | null> {
  const startedAt = performance.now();
  for (;;) {
    const stored = await countStored(knex).catch((error: unknown) => {
      if ((error as { code?: string }).code === NO_TABLE) return 0;
      throw error;
    });
    if (stored >= count) return performance.now() - startedAt;
    if (performance.now() - startedAt > withinMs) return null;
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY));
  }
}

/** Bytes of the schema's tables with indexes and what is out of line. */
export async function bytesStored(knex: Knex): Promise<number> {
  const { rows } = await knex.raw<{ rows: { bytes: string }[] }>(
    `select sum(pg_total_relation_size(c.oid)) as bytes from pg_class c
     join pg_namespace n on n.oid = c.relnamespace where n.nspname = ? and c.relkind = 'r'`,
    [SCHEMA],
  );
  return Number(rows[0]?.bytes ?? 0);
}

/** Milliseconds that a service gets to have its database. */
const READY_WITHIN = 15_000;

/** Asks again where the process that answers is not ready. */
async function askReady(url: string, deadline: number): Promise<Response> {
  for (;;) {
    const answer = await fetch(url);
    if (answer.status !== 503 || Date.now() > deadline) return answer;
    await answer.text();
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY));
  }
}

async function opens(origin: string, token: string, deadline: number): Promise<boolean> {
  const json = await askReady(`${origin}/_profiler/${token}.json`, deadline);
  const { profile } = (await json.json().catch(() => ({}))) as { profile?: { token: string } };
  const page = await askReady(`${origin}/_profiler/${token}`, deadline);
  return profile?.token === token && page.status === 200 && (await page.text()).includes(token);
}

/** How many of `tokens` open at `origin`, as JSON and as a page, once its processes have their database. */
export async function openThere(origin: string, tokens: readonly string[]): Promise<number> {
  const deadline = Date.now() + READY_WITHIN;
  let opened = 0;
  for (const token of tokens) if (await opens(origin, token, deadline)) opened++;
  return opened;
}
