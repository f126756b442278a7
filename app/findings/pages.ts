/** Pages of a list: rows that are skipped, and limits that count something else. */
import type { KeptRequest } from '../panels/request/data.ts';
import { parseBeginning } from '../panels/shared/json-leaves.ts';
import type { FindingDraft, FindingRule } from '../profiler/finding-rule.ts';
import { isRecord, type Json } from '../profiler/json.ts';
import type { Kept, Needs } from './shared/kept.ts';
import { draftAt, labelOf, type Read, readOf, readsOf, rowOf } from './shared/queries.ts';
import { isDeep, isSlow, limitOf, offsetOf } from './shared/statement-reasons.ts';
import { count, shareOf } from './shared/wording.ts';

type Database = Kept['database'];

const deepOffset: FindingRule<Needs<'database'>> = {
  name: 'deep-offset',
  needs: ['database'],
  labels: ['deep offset'],
  why: 'The OFFSET of the statement was at least 10,000, or 1,000 if it took 50 ms or more. The database reads the rows that it skips.',
  fix: 'Page by key: remember the last row of a page and ask for those after it (`where id > $1 order by id limit 20`).',
  find({ database }, { durationMs: wholeMs }) {
    return readsOf(database).flatMap(({ query, index, read }): FindingDraft[] => {
      const offset = offsetOf(read, query);
      const ms = query.durationMs ?? 0;
      if (!isDeep(read, query)) return [];
      const sentence = `${labelOf(database, query)} skips ${count(offset, 'row')} (OFFSET)${query.rows === null ? '' : ` to return ${count(query.rows)}`}: ${shareOf(ms, wholeMs)}`;
      const severity = isSlow(query) ? 'warn' : 'info';
      return [{ severity, sentence, anchor: rowOf(index), costMs: ms, place: query.caller }];
    });
  },
  code({ anchor = '' }, { panels }) {
    const data = panels.database?.data as Database;
    const query = data.queries[Number(anchor.slice(1)) - 1];
    const read = query === undefined ? null : readOf(data, query);
    const [, column] = /^(?:[\w"`]+\.)?["`]?(\w+)["`]?(desc|asc)?$/.exec(read?.orderBy ?? '') ?? [];
    if (read?.table === undefined || read.table === null || column === undefined) return null;
    const order = read.orderBy.endsWith('desc') ? '<' : '>';
    return {
      language: 'sql',
      text: `-- instead of OFFSET; $1 is ${column} of the last row of the page before\n… from ${read.table} where ${column} ${order} $1 order by ${read.orderBy} limit …`,
      assumes: `Assumes that ${column} is unique, or that the key is added to the order, and that an index begins with it.`,
    };
  },
};

function listWith(value: Json, items: number): Json[] | null {
  if (Array.isArray(value)) {
    const nested = value.flatMap((entry) =>
      isRecord(entry) ? Object.values(entry).filter((part) => Array.isArray(part)) : [],
    );
    if (nested.reduce((sum, list) => sum + list.length, 0) === items && value.length < items) return value;
  }
  const parts = typeof value === 'object' && value !== null ? Object.values(value) : [];
  return parts.map((part) => listWith(part, items)).find((list) => list !== null) ?? null;
}

const limitOfJoined: FindingRule<Needs<'database' | 'request'>> = {
  name: 'limit-of-joined',
  needs: ['database', 'request'],
  labels: ['short page'],
  why: 'A statement with a join and a LIMIT returned as many rows as the limit, and the response has them as fewer entries with lists.',
  fix: 'Limit the entries before you join: a subselect with the LIMIT, or a second statement for the lists (`separate: true`; without `subQuery: false`).',
  find({ database, request }) {
    const whole = parseBeginning(request.response?.text ?? '');
    return readsOf(database).flatMap(({ query, index, read }): FindingDraft[] => {
      const limit = limitOf(read, query);
      if (read.verb !== 'select' || read.joins === 0 || read.isAggregated) return [];
      if (limit < 2 || query.rows !== limit || whole?.isWhole !== true) return [];
      const list = listWith(whole.value, limit);
      if (list === null) return [];
      const sentence = `${labelOf(database, query)} has LIMIT ${count(limit)}, but the response has ${count(list.length, 'entry', 'entries')}: the limit counts the joined rows`;
      return [{ broke: 'response', severity: 'warn', sentence, anchor: rowOf(index), place: query.caller }];
    });
  },
};

const PAGE = /^(?:page(?:_?(?:no|number|index))?|p)$/i;
const PAGING = /page|^p$|offset|skip|cursor|after|before|from|start/i;

function pageSkipped({ read, query }: Read): number {
  const offset = offsetOf(read, query);
  return offset > 1 && offset === limitOf(read, query) ? offset : 0;
}

function asksFirst({ query }: KeptRequest): boolean {
  const page = query.find(({ name }) => PAGE.test(name));
  return page === undefined ? !query.some(({ name }) => PAGING.test(name)) : page.value === '1';
}

const firstPageSkipped: FindingRule<Needs<'database' | 'request'>> = {
  name: 'first-page-skipped',
  needs: ['database', 'request'],
  labels: ['first page skipped'],
  why: 'The OFFSET is one page although no page was asked for; or it is one page for page 1, and no other of the latest requests of this route had the OFFSET 0.',
  fix: 'Let the first page skip nothing: `offset = (page - 1) * limit` if pages count from 1.',
  compares: ({ database, request }) =>
    asksFirst(request) && readsOf(database).some((one) => pageSkipped(one) > 0),
  find({ database, request }, _head, { earlier }) {
    const page = request.query?.find(({ name }) => PAGE.test(name));
    if (!asksFirst(request)) return [];
    return readsOf(database).flatMap((one): FindingDraft[] => {
      const skipped = pageSkipped(one);
      if (skipped === 0) return [];
      const { query, index } = one;
      // Some builders leave out an OFFSET of 0.
      const others = earlier.flatMap(({ kept }) =>
        kept.database === undefined
          ? []
          : readsOf(kept.database as Database).filter(
              ({ read }) => read.table === one.read.table && read.limit !== null,
            ),
      );
      const isSeen = others.some(({ read, query: other }) => offsetOf(read, other) === 0);
      if (page !== undefined && (isSeen || others.length === 0)) return [];
      const what =
        page === undefined
          ? 'although no page was asked for'
          : `for page 1, and none of ${count(others.length, 'earlier request')} read them: pages seem to be counted from 1 by the client, and from 0 here`;
      const sentence = `${labelOf(database, query)} skips the first ${count(skipped, 'row')} (OFFSET ${count(skipped)}) ${what}`;
      return [draftAt({ query, index }, sentence, 'warn')];
    });
  },
};

export const pageRules: readonly FindingRule[] = [limitOfJoined, firstPageSkipped, deepOffset];
