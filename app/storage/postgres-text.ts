/**
 * Text search: searches the newest profiles that match all other filters in the database, chunk by chunk, and checks the matches here,
 * because names in the JSON match words, too. It ends with a full page, at the limit of profiles, or shortly before the timeout, and
 * says how many profiles it searched.
 */
import { type Client, inTransaction, type Pool, withClient } from './pool.ts';
import { escapedForJson, findText, type TextPlace } from '../profiler/find-text.ts';
import type { ProfileIndex } from '../profiler/profile-index.ts';
import type { FindResult, ProfileQuery } from '../profiler/storage.ts';
import { type Condition, holds, likePattern } from './find-sql.ts';
import { pinsOf } from './pins.ts';
import { INDEX_COLUMNS, indexOfRow, type ProfileRow } from './rows.ts';

/** Limits of the profiles searched: in all, and per chunk. */
const MOST_LOOKED = 5000;
const CHUNK = 250;
/** Share of the timeout after which no further chunk is started. */
const TIME_SHARE = 0.6;

export interface TextQuery {
  /** Quoted for SQL. */
  schema: string;
  table: string;
  condition: Condition;
  query: ProfileQuery;
  text: string;
  timeoutMs: number;
}

interface Chunk {
  found: (ProfileRow & { document: string })[];
  looked: number;
  /** The last profile searched. */
  last: { token: string; started_at: string } | null;
}

async function lookThrough(
  client: Client,
  { table, condition, text }: TextQuery,
  after: Chunk['last'],
): Promise<Chunk> {
  const values = [...condition.values];
  const given = (value: unknown): string => `$${values.push(value)}`;
  const further =
    after === null
      ? ''
      : `and (started_at < ${given(after.started_at)}::bigint or (started_at = ${given(after.started_at)}::bigint and token > ${given(after.token)}))`;
  const like = holds('document', escapedForJson(text)).replace('?', () =>
    given(likePattern(escapedForJson(text))),
  );
  const result = await client.query(
    `with looked as materialized (
       select ${INDEX_COLUMNS.join(', ')}, document from ${table} where ${condition.sql} ${further}
       order by started_at desc, token limit ${CHUNK}
     ), last as (select token, started_at from looked order by started_at, token desc limit 1)
     select (select count(*)::int from looked) as looked, (select token from last) as last_token,
       (select started_at from last) as last_at, found.*
     from (values (1)) as one left join (select * from looked where ${like}) as found on true
     order by found.started_at desc, found.token`,
    values,
  );
  const rows = result.rows as (Chunk['found'][number] & {
    looked: number;
    last_token: string | null;
    last_at: string;
  })[];
  const [first] = rows;
  return {
    found: rows.filter(({ token }) => token !== null),
    looked: first?.looked ?? 0,
    last:
      first === undefined || first.last_token === null
        ? null
        : { token: first.last_token, started_at: first.last_at },
  };
}

export function searchText(pool: Pool, search: TextQuery): Promise<FindResult> {
  const { query, schema, text, timeoutMs } = search;
  const until = performance.now() + timeoutMs * TIME_SHARE;
  const rows: ProfileIndex[] = [];
  const places: Record<string, TextPlace> = {};
  let count = 0;
  let all = false;
  let oldest: number | null = null;

  async function look(client: Client): Promise<void> {
    let last: Chunk['last'] = null;
    while (rows.length <= query.offset + query.limit && count < MOST_LOOKED && performance.now() < until) {
      const chunk = await lookThrough(client, search, last);
      for (const { document, ...row } of chunk.found) {
        const place = findText(document, text, query.searched ?? {});
        if (place === null) continue;
        rows.push(indexOfRow(row));
        places[row.token] = place;
      }
      count += chunk.looked;
      last = chunk.last;
      if (last !== null) oldest = Number(last.started_at);
      all = chunk.looked < CHUNK;
      if (all) return;
    }
  }

  return withClient(pool, (client) =>
    inTransaction(client, timeoutMs, async () => {
      await look(client);
      const page = rows.slice(query.offset, query.offset + query.limit);
      const found = Object.fromEntries(
        page.flatMap(({ token }) => {
          const place = places[token];
          return place === undefined ? [] : [[token, place]];
        }),
      );
      return {
        rows: page,
        total: rows.length,
        totalIsExact: all,
        looked: { count, all, oldest, found },
        ...(await pinsOf(client, schema, page)),
      };
    }),
  );
}
