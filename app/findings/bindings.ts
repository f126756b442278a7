/** Values that were bound although something went wrong before: keys of 0, lost encodings, cut cents, fields without a value. */
import type { KeptRequest } from '../panels/request/data.ts';
import { sameName } from '../panels/shared/compare-values.ts';
import { leavesOf, parseBeginning } from '../panels/shared/json-leaves.ts';
import { receivedFields } from '../panels/shared/received.ts';
import type { FindingDraft, FindingRule } from '../profiler/finding-rule.ts';
import type { Kept, Needs } from './shared/kept.ts';
import { draftAt, labelOf, type Read, readsOf, sqlOf } from './shared/queries.ts';
import { count, excerpt } from './shared/wording.ts';

type Database = Kept['database'];
type Given = Needs<'request', 'database' | 'routing'>;

function isWrite({ read }: Read): boolean {
  return read.verb === 'insert' || read.verb === 'update';
}

const FOREIGN_KEY = /_id$|[a-z]I[dD]$/;

/** `category_id` is a key of `categories`. */
function isKeyOf(key: string, table: string | null): boolean {
  const stem = sameName(key.replace(/_?id$/i, ''));
  return table !== null && sameName(table).includes(stem.slice(0, Math.max(3, stem.length - 2)));
}

const keyOfNothing: FindingRule<Needs<'database' | 'request'>> = {
  name: 'key-of-nothing',
  needs: ['database', 'request'],
  labels: ['key of nothing'],
  why: 'An insert added no row, and a later write bound 0 for the key of that table by its name (`tag_id` of `tags`). No 0 was received for it.',
  fix: 'Look at the number of rows before you use `insertId`, which is 0 if nothing was inserted (`insert ignore`, `on duplicate key`): read the id of the row that is there already.',
  find({ database, request }) {
    const received = receivedFields(request);
    const writes = readsOf(database).filter(isWrite);
    return writes.flatMap((one): FindingDraft[] => {
      const { query } = one;
      const key = query.bindings.find(({ name, value }) => FOREIGN_KEY.test(name) && value === 0)?.name;
      if (key === undefined) return [];
      const empty = writes.find(
        (before) =>
          before.read.verb === 'insert' &&
          before.query.rows === 0 &&
          before.query.startMs < query.startMs &&
          isKeyOf(key, before.read.table),
      );
      if (empty === undefined) return [];
      if (received.some(({ name, value }) => sameName(name) === sameName(key) && Number(value) === 0))
        return [];
      const { warnings = 0 } = empty.query;
      const warned = warnings === 0 ? '' : ` with ${count(warnings, 'warning')} of the database`;
      const sentence = `${labelOf(database, empty.query)} added 0 rows${warned}, and ${labelOf(database, query)} then bound 0 for ${key}, as if it was the id of a new row`;
      return [draftAt(one, sentence, 'bad')];
    });
  },
};

/** Received numbers with one or two decimals. */
function amountsIn(request: KeptRequest): { name: string; cents: number; cut: number }[] {
  return receivedFields(request).flatMap(({ name, value }) => {
    if (!/^\d{1,9}\.\d{1,2}$/.test(String(value))) return [];
    const times = Number(value) * 100;
    const [cents, cut] = [Math.round(times), Math.trunc(times)];
    return cents === cut ? [] : [{ name, cents, cut }];
  });
}

const centLost: FindingRule<Needs<'database' | 'request'>> = {
  name: 'cent-lost',
  needs: ['database', 'request'],
  labels: ['cent lost'],
  why: 'An amount with decimals was received, and a write bound 100 times as much, cut off at the decimal point: one less than the rounded number.',
  fix: 'Round: `Math.round(amount * 100)`. In floating point, 19.99 × 100 is 1998.9999999999998. `Math.trunc`, `Math.floor`, `parseInt` and `| 0` cut it to 1998.',
  find({ database, request }) {
    const amounts = amountsIn(request);
    if (amounts.length === 0) return [];
    return readsOf(database).flatMap((one): FindingDraft[] => {
      if (!isWrite(one)) return [];
      for (const { name, value } of one.query.bindings) {
        const amount = amounts.find(({ cut }) => value === cut);
        if (amount === undefined || amounts.some(({ cents }) => value === cents)) continue;
        const sentence = `${labelOf(database, one.query)} got one less for ${excerpt(name, 40)} than ${excerpt(amount.name, 40)} × 100: its product in floating point was cut off, not rounded`;
        return [draftAt(one, sentence, 'bad')];
      }
      return [];
    });
  },
};

const INSERT = /^insert (?:ignore )?into [\w.]+ ?\(([^()]*)\) values ?\((.*)\)(?: returning .*| on .*)?;?$/i;

/** Columns of an insert of several rows that have DEFAULT or NULL in each of them. */
function emptyColumns(database: Database, { query }: Read): { columns: string[]; rows: number } {
  const sql = sqlOf(database, query).replace(/["`]/g, '').replace(/\s+/g, ' ').trim();
  const [, names = '', values = ''] = INSERT.exec(sql) ?? [];
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

const columnWithoutValues: FindingRule<Needs<'database' | 'request'>> = {
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
        const before = earlier.filter(({ kept }) => {
          const other = kept.database as Database | undefined;
          return (
            other !== undefined &&
            readsOf(other).some(
              ({ read, query }) =>
                read.verb === 'insert' &&
                read.table === one.read.table &&
                query.bindings.some(({ name, value }) => name === column && value !== null),
            )
          );
        });
        if (before.length === 0) continue;
        const sentence = `${labelOf(database, one.query)} got no value for ${excerpt(column, 40)} in any of ${count(rows, 'row')}, but had some in ${count(before.length, 'earlier request')}: the file seems to have another name for it, possibly with a byte order mark (U+FEFF) before it`;
        return [draftAt(one, sentence, 'bad')];
      }
      return [];
    });
  },
};

interface Text {
  name: string;
  value: string;
  /** Index of its statement. */
  at: number | null;
}

/** Texts that were bound, then those that were received, also as names of files. */
function textsOf(request: KeptRequest, database: Database | undefined): Text[] {
  const bound = (database?.queries ?? []).flatMap(({ bindings }, at) =>
    bindings.map(({ name, value }) => ({ name, value, at })),
  );
  const received = receivedFields(request).map(({ name, value }) => ({ name, value, at: null }));
  const files = (request.body?.files ?? []).map(({ name }) => ({
    name: 'the file’s name',
    value: name,
    at: null,
  }));
  return [...bound, ...files, ...received].filter((one): one is Text => typeof one.value === 'string');
}

const AT_START = /^\uFEFF/;

function textDraft({ at }: Pick<Text, 'at'>, sentence: string, { database, routing }: Given): FindingDraft {
  const query = database?.queries[at ?? -1];
  if (query !== undefined) return draftAt({ query, index: at ?? 0 }, sentence, 'warn');
  return { broke: 'unseen', severity: 'warn', sentence, place: routing?.route?.source };
}

const byteOrderMark: FindingRule<Given> = {
  name: 'byte-order-mark',
  needs: ['request'],
  labels: ['byte order mark'],
  why: 'A name or a value that was received, bound or sent begins with the character U+FEFF, with which Windows marks files of text.',
  fix: 'Remove it where the file is read (`bom: true` of csv-parse, `text.replace(/^\\uFEFF/, "")`): it can’t be seen, and `row.sku` is not the field “U+FEFF sku”.',
  find(kept) {
    const { request, database } = kept;
    const sent = leavesOf(parseBeginning(request.response?.text ?? '')?.value ?? null);
    const names: Text[] = [...receivedFields(request), ...sent].map(({ name }) => ({
      name,
      value: '',
      at: null,
    }));
    const found = [...textsOf(request, database), ...names].find(
      ({ name, value }) => AT_START.test(name) || AT_START.test(value),
    );
    if (found === undefined) return [];
    const what = AT_START.test(found.name) ? 'The name' : 'The value of';
    const sentence = `${what} ${excerpt(found.name.replace(AT_START, ''), 40)} begins with a byte order mark (U+FEFF), which nobody sees`;
    return [textDraft(found, sentence, kept)];
  },
};

/** Whether all bytes of a text in Latin-1 are UTF-8, and some of them not ASCII. */
function isMisread(text: string): boolean {
  if (!/[\u00c2-\u00f4][\u0080-\u00bf]/.test(text) || /[^\0-\u00ff]/.test(text)) return false;
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(text, 'latin1'));
    return true;
  } catch {
    return false;
  }
}

const readAsLatin: FindingRule<Given> = {
  name: 'read-as-latin',
  needs: ['request'],
  labels: ['mojibake'],
  why: 'A bound or received text was read as Latin-1: its characters, taken as bytes, are valid UTF-8.',
  fix: 'Decode it as UTF-8: `defParamCharset: "utf8"` for Multer and Busboy, whose names of files are Latin-1 by default, or `Buffer.from(name, "latin1").toString("utf8")`.',
  find(kept) {
    const { request, database } = kept;
    const texts = textsOf(request, database);
    const found = texts.find(({ value }) => isMisread(value));
    if (found === undefined) return [];
    const isFile = request.body?.files.some(({ name }) => name === found.value) === true;
    const named = `${excerpt(found.name, 40)}${isFile && found.at !== null ? ' (the name of the file)' : ''}`;
    const query = database?.queries[found.at ?? -1];
    const what =
      query === undefined || database === undefined
        ? `${named} was received as`
        : `${labelOf(database, query)} got for ${named}`;
    const sentence = `${what} a text whose UTF-8 was read as Latin-1: each letter with an accent is two wrong characters`;
    return [textDraft(found, sentence, kept)];
  },
};

const FALSE = /^(?:false|0|no|off)$/i;
const TRUE = /^(?:true|1|yes|on)$/i;

/** Its 0 is a number. */
const OF_NUMBER = /page|limit|offset|skip|size|count|index|id$|min|max|from|to$|year|month|day/i;

/** What a request asked for, aside from one parameter of its query. */
function asideFrom({ query, routeParams }: KeptRequest, name: string): string {
  return JSON.stringify([query.filter((one) => one.name !== name), routeParams]);
}

function askedBy({ queries, statements }: Database): { texts: string[]; all: string } {
  const texts = queries.map(({ statement }) => statements[statement]?.sql ?? '');
  return { texts, all: JSON.stringify(queries.map(({ bindings }, at) => [texts[at], bindings])) };
}

const falseAsTrue: FindingRule<Needs<'database' | 'request', 'routing'>> = {
  name: 'false-as-true',
  needs: ['database', 'request'],
  labels: ['false as true'],
  why: 'A parameter of the query says no, the statements and their values are those of an earlier request in which it says yes, and without it a statement is another one.',
  fix: 'Compare the text (`req.query.archived === "true"`): a parameter is a text, and every text except the empty one is true. `"false"` and `"0"` are true in `if` and `Boolean(…)`.',
  compares: ({ request }) => request.query.some(({ value }) => FALSE.test(value)),
  find({ database, request }, _head, { earlier }) {
    const own = askedBy(database);
    const others = earlier.flatMap(({ head, kept }) =>
      kept.request === undefined || kept.database === undefined
        ? []
        : [
            {
              token: head.token,
              request: kept.request as KeptRequest,
              ...askedBy(kept.database as Database),
            },
          ],
    );
    return request.query.flatMap(({ name, value }): FindingDraft[] => {
      if (!FALSE.test(value) || (value === '0' && OF_NUMBER.test(name))) return [];
      const alike = others.filter((one) => asideFrom(one.request, name) === asideFrom(request, name));
      const yes = alike.find(
        (one) =>
          one.request.query.some((other) => other.name === name && TRUE.test(other.value)) &&
          one.all === own.all,
      );
      const without = alike.filter((one) => one.request.query.every((other) => other.name !== name));
      const index = own.texts.findIndex((text) => without.every(({ texts }) => !texts.includes(text)));
      const query = database.queries[index];
      if (yes === undefined || without.length === 0 || query === undefined) return [];
      const sentence = `${excerpt(name, 40)} says no, but ${labelOf(database, query)} is the same as in an earlier request (${yes.token}) in which it says yes, and another one without it: its text seems to be taken for true`;
      return [draftAt({ query, index }, sentence, 'bad')];
    });
  },
};

export const bindingRules: readonly FindingRule[] = [
  keyOfNothing,
  centLost,
  columnWithoutValues,
  byteOrderMark,
  readAsLatin,
  falseAsTrue,
];
