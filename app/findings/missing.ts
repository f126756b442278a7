/** Values that are not there: a word in place of one, a column without one, a key of no row. */
import type { KeptRequest } from '../panels/request/data.ts';
import { sameName } from '../panels/shared/compare-values.ts';
import { leavesIn } from '../panels/shared/json-leaves.ts';
import { receivedFields } from '../panels/shared/received.ts';
import type { FindingDraft } from '../profiler/read/finding-rule.ts';
import { type Json } from '../profiler/json.ts';
import { sentHeader } from './shared/http.ts';
import type { Database, Needs, Rule } from './shared/kept.ts';
import { draftAt, isWrite, labelOf, plainSql, type Read, readsOf, sqlOf } from './shared/queries.ts';
import { brokeBy, count, excerpt } from './shared/wording.ts';
import { mediaTypeOf } from '../profiler/http-text.ts';

type Given = Needs<'request', 'database' | 'routing'>;

/** Names that stand for a value where something was missing. */
const MISSING = /^(?:undefined|null|NaN|Invalid Date|\[invalid Date\]|\[object Object\])$/;
/** Inside of a short text: as a part of an address, of a name, of an amount. */
const BUILT_FROM =
  /\[object Object\]|(?:^|\/)undefined(?:$|[/?#.])|\bundefined undefined\b|[$€£]\s?(?:NaN|undefined)\b|\bNaN\s?(?:[€£%]|kB|MB)|^%undefined%$/;
const LONGEST_BUILT = 200;

function missingIn(value: Json): string | null {
  if (typeof value !== 'string' || value.length > LONGEST_BUILT) return null;
  if (MISSING.test(value)) return value === '[invalid Date]' ? 'Invalid Date' : value;
  return /undefined|NaN|\[object Object\]/.exec(BUILT_FROM.exec(value)?.[0] ?? '')?.[0] ?? null;
}

/** Text between tags, but where code is shown. */
const IN_TAG =
  /<(?!code|kbd|pre|samp|var|script|style|textarea|option)(\w+)\b[^<>]*>\s*([$€£]?\s?(?:undefined|NaN|\[object Object\]|Invalid Date))\s*<\//i;
const IN_ATTRIBUTE = /\s(?:href|src|action)="[^"]*(?:\/undefined|\/NaN|\[object(?: |%20)Object\])["/?#]/;

function missingSent({ response }: KeptRequest): { word: string; where: string } | null {
  const text = response?.text ?? '';
  const type = mediaTypeOf(response?.contentType ?? null);
  if (type === 'text/html') {
    const [, tag, word] = IN_TAG.exec(text) ?? [];
    if (tag !== undefined && word !== undefined)
      return { word, where: `in the page as the text of a <${tag}>` };
    const attribute = IN_ATTRIBUTE.exec(text)?.[0];
    return attribute === undefined
      ? null
      : {
          word: /undefined|NaN/.exec(attribute)?.[0] ?? '[object Object]',
          where: 'in the page in an address',
        };
  }
  if (!/\bjson$/.test(type)) return null;
  // A list of words has `undefined: "undefined"`.
  const leaf = leavesIn(text).find(
    ({ path, value }) => value !== 'null' && path.split('.').at(-1) !== value && missingIn(value) !== null,
  );
  return leaf === undefined
    ? null
    : { word: missingIn(leaf.value) ?? '', where: `as ${excerpt(leaf.path, 60)}` };
}

/** Somebody may search for the word. */
const SEARCHES = /^(?:q|query|search|term|text|filter|keywords?)$/i;

function inAddress({ routeParams, query }: KeptRequest): { name: string; word: string } | null {
  for (const { name, value } of routeParams) {
    const word = missingIn(value);
    if (word !== null) return { name, word };
  }
  for (const { name, value } of query) {
    const word = missingIn(value);
    if (word !== null && word !== 'null' && !SEARCHES.test(name)) return { name, word };
  }
  return null;
}

/** A driver that refuses it says so. */
function missingGiven(request: KeptRequest, database: Database): FindingDraft | null {
  for (const [index, query] of database.queries.entries()) {
    if (query.error !== null) continue;
    for (const { name, value, type } of query.bindings) {
      const word = type === undefined || type === 'date' ? missingIn(value) : null;
      if (word === null || receivedFields(request).some((one) => one.value === value)) continue;
      const sentence = `${labelOf(database, query)} was given “${word}” for ${excerpt(name, 60)}`;
      return draftAt({ query, index }, sentence, 'bad');
    }
  }
  return null;
}

const notAValue: Rule<Given> = {
  name: 'not-a-value',
  needs: ['request'],
  labels: ['missing value'],
  why: 'The address, a value of a statement, a Location or the response has `undefined`, `NaN`, `null`, `Invalid Date` or `[object Object]` as text in place of a value.',
  fix: 'Check the line that builds the text: the variable had no value there, or was an object. Refuse such a parameter with a 400.',
  find({ request, database, routing }, { status }) {
    const place = routing?.route?.source;
    const address = inAddress(request);
    if (address !== null) {
      const sentence = `The parameter ${excerpt(address.name, 60)} is the text “${address.word}”: the client built the address from something that had no value`;
      return [{ broke: brokeBy(status), severity: 'warn', sentence, place }];
    }
    const given = database === undefined ? null : missingGiven(request, database);
    if (given !== null) return [given];
    if (status === null || status >= 400) return [];
    const location = sentHeader(request, 'location');
    if (
      location !== null &&
      /(?:\/|=)(?:undefined|NaN|\[object(?: |%20)Object\])(?:$|[/?#&])/.test(location.value)
    )
      return [
        {
          broke: 'response',
          severity: 'bad',
          sentence: 'The redirect leads to an address with “undefined”, “NaN” or “[object Object]” in it',
          anchor: location.anchor,
          place,
        },
      ];
    const sent = missingSent(request);
    if (sent === null) return [];
    const sentence = `“${sent.word.trim()}” was sent ${sent.where}`;
    return [{ broke: 'unseen', severity: 'warn', sentence, anchor: 'response', place }];
  },
};

const FOREIGN_KEY = /_id$|[a-z]I[dD]$/;

/** `category_id` is a key of `categories`. */
function isKeyOf(key: string, table: string | null): boolean {
  const stem = sameName(key.replace(/_?id$/i, ''));
  return table !== null && sameName(table).includes(stem.slice(0, Math.max(3, stem.length - 2)));
}

/** Of MySQL: it may count a row that it left as it was. */
const ON_DUPLICATE = /\bon\s+duplicate\s+key\s+update\b/i;

const keyOfNothing: Rule<Needs<'database' | 'request'>> = {
  name: 'key-of-nothing',
  needs: ['database', 'request'],
  labels: ['key of nothing'],
  why: 'An insert added no row, or has ON DUPLICATE KEY UPDATE, and a later write bound 0 for the key of that table by its name (`tag_id` of `tags`). No 0 was received for it.',
  fix: 'Do not use `insertId` where the row may be there already (`insert ignore`, `on duplicate key`): it is 0 then. Read the id of that row, or add `id = last_insert_id(id)` to the update.',
  find({ database, request }) {
    const received = receivedFields(request);
    const writes = readsOf(database).filter(isWrite);
    return writes.flatMap((one): FindingDraft[] => {
      const { query } = one;
      const key = query.bindings.find(({ name, value }) => FOREIGN_KEY.test(name) && value === 0)?.name;
      if (key === undefined) return [];
      const empty = writes.findLast(
        (before) =>
          before.read.verb === 'insert' &&
          (before.query.rows === 0 || ON_DUPLICATE.test(sqlOf(database, before.query))) &&
          before.query.startMs < query.startMs &&
          isKeyOf(key, before.read.table),
      );
      if (empty === undefined) return [];
      if (received.some(({ name, value }) => sameName(name) === sameName(key) && Number(value) === 0))
        return [];
      const { warnings = 0 } = empty.query;
      const warned = warnings === 0 ? '' : ` with ${count(warnings, 'warning')} of the database`;
      const did =
        empty.query.rows === 0
          ? `added 0 rows${warned}`
          : 'has ON DUPLICATE KEY UPDATE, which gives no id of a row that is there already';
      const sentence = `${labelOf(database, empty.query)} ${did}, and ${labelOf(database, query)} then bound 0 for ${key}, as if it was the id of a new row`;
      return [draftAt(one, sentence, 'bad')];
    });
  },
};

const INSERT = /^insert (?:ignore )?into [\w.]+ ?\(([^()]*)\) values ?\((.*)\)(?: returning .*| on .*)?;?$/i;

/** Columns of an insert of several rows that have DEFAULT or NULL in each of them. */
function emptyColumns(database: Database, { query }: Read): { columns: string[]; rows: number } {
  const [, names = '', values = ''] = INSERT.exec(plainSql(database, query).trim()) ?? [];
  const columns = names.split(',').map((name) => name.trim());
  const rows = values.split(/\) ?, ?\(/).map((row) => row.split(',').map((value) => value.trim()));
  if (rows.length < 2 || rows.some((row) => row.length !== columns.length)) return { columns: [], rows: 0 };
  let asked = 0;
  const areEmpty = rows.map((row) =>
    row.map((value) => {
      const [, number] = /^\$(\d+)$/.exec(value) ?? [];
      const isBound = number !== undefined || value === '?';
      const at = number === undefined ? asked : Number(number) - 1;
      if (value === '?') asked++;
      const bound = query.bindings[at];
      return isBound
        ? bound !== undefined && (bound.value === null || bound.type === 'undefined')
        : /^(?:default|null)$/i.test(value);
    }),
  );
  return {
    columns: columns.filter((_, at) => areEmpty.every((row) => row[at] === true)),
    rows: rows.length,
  };
}

const columnWithoutValues: Rule<Needs<'database' | 'request'>> = {
  name: 'column-without-values',
  needs: ['database', 'request'],
  labels: ['column without values'],
  why: 'A file was received, an insert of several rows has DEFAULT or NULL for a column in each of them, and an earlier request of this route bound values for it.',
  fix: 'Print the names that the file was read with: Excel writes a byte order mark before the first one. Remove it (`bom: true` of csv-parse, `text.replace(/^\\uFEFF/, "")`), and refuse a file without the columns that you need.',
  compares: ({ database, request }) =>
    (request.body?.files.length ?? 0) > 0 &&
    readsOf(database).some((one) => emptyColumns(database, one).columns.length > 0),
  find({ database, request }, _head, { earlier }) {
    if ((request.body?.files.length ?? 0) === 0) return [];
    return readsOf(database).flatMap((one): FindingDraft[] => {
      const { columns, rows } = emptyColumns(database, one);
      for (const column of columns) {
        const before = earlier.filter(({ kept }) =>
          readsOf(kept.database).some(
            ({ read, query }) =>
              read.verb === 'insert' &&
              read.table === one.read.table &&
              query.bindings.some(({ name, value }) => name === column && value !== null),
          ),
        );
        if (before.length === 0) continue;
        const sentence = `${labelOf(database, one.query)} got no value for ${excerpt(column, 40)} in any of ${count(rows, 'row')}, but had some in ${count(before.length, 'earlier request')}: the file seems to have another name for it, possibly with a byte order mark (U+FEFF) before it`;
        return [draftAt(one, sentence, 'bad')];
      }
      return [];
    });
  },
};

export const missingRules: readonly Rule[] = [notAValue, keyOfNothing, columnWithoutValues];
