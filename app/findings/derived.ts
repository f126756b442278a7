/** A text that was made from other columns of its row, and stays as it was when one of them is changed alone. */
import { foundRows } from '../panels/shared/found-rows.ts';
import { insertedRows } from '../panels/shared/last-writer.ts';
import { receivedFields } from '../panels/shared/received.ts';
import { columnOf } from '../panels/shared/row-changes.ts';
import { aboutStatement } from '../panels/shared/about-statement.ts';
import { isMasked } from '../profiler/masking/redact.ts';
import type { Json } from '../profiler/json.ts';
import type { FindingDraft } from '../profiler/read/finding-rule.ts';
import { givenText } from './shared/conditions.ts';
import type { Database, Needs, OtherRequest, Query, Rule } from './shared/kept.ts';
import { draftAt, isWrite, labelOf, type Read, readsOf } from './shared/queries.ts';
import { bracketed, excerpt, listOf, requestText } from './shared/wording.ts';

/** They are made to be searched or sorted by, and hold nothing of their own. */
const OF_SEARCH = /search|sort|index|keyword|full_?text|normali[sz]|canonical|folded|plain|lower|ascii/i;
/** They stay on purpose, or say how it was. */
const STAYS =
  /slug|permalink|handle|mail|login|user_?name|path|url|uri|link|file|key|code|token|hash|publish|live|draft|orig|initial|first|prev|old|last|snapshot|histor|log|note|message|reason/i;

type Row = ReadonlyMap<string, string>;

function folded(text: string): string {
  return text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase();
}

function wordsOf(text: string): string[] {
  return folded(text).match(/[\p{L}\p{N}]+/gu) ?? [];
}

function hasWords(text: string, part: string): boolean {
  const words = new Set(wordsOf(text));
  return wordsOf(part).every((word) => words.has(word));
}

function rowOf(pairs: readonly (readonly [string, Json])[]): Row {
  return new Map(
    pairs.flatMap(([name, value]) =>
      typeof value === 'number' || (typeof value === 'string' && !isMasked(value))
        ? [[name, String(value)] as const]
        : [],
    ),
  );
}

/** Found rows, by the names of their columns. */
function rowsIn({ statements }: Database, query: Query): Row[] {
  const { sql = '', system } = statements[query.statement] ?? {};
  const { sources } = aboutStatement(sql, system);
  return foundRows(query).map((row) =>
    rowOf(Object.entries(row).map(([name, value]) => [columnOf(name, sources) ?? '', value])),
  );
}

function setsOf({ read, query }: Read): Row {
  return rowOf(read.sets.map(({ column, value }) => [column, givenText(value, query)]));
}

/** Whether it asks for this row: by what it does not change itself. */
function isAbout({ read, query }: Read, row: Row): boolean {
  const asked = (read.where ?? []).filter(({ column }) => !read.sets.some((set) => set.column === column));
  return (
    read.isPlain &&
    asked.length > 0 &&
    asked.every(
      ({ column, operator, values }) =>
        operator === '=' && row.has(column) && givenText(values[0], query) === row.get(column),
    )
  );
}

/** The rows as a write left them, as far as its request knows. */
function rowsAfter(database: Database, one: Read): Row[] {
  const { read, query, index } = one;
  const returned = rowsIn(database, query);
  if (read.verb === 'insert') {
    const rows = insertedRows(query.bindings).map((row) =>
      rowOf(row.map(({ name, value }) => [name, value])),
    );
    return rows.length === 0 ? returned : rows.map((row, at) => new Map([...row, ...(returned[at] ?? [])]));
  }
  const before = readsOf(database).filter((other) => other.index < index && other.read.table === read.table);
  const known = before
    .flatMap(({ query: other }) => rowsIn(database, other))
    .filter((row) => isAbout(one, row));
  return [new Map([...known.flatMap((row) => [...row]), ...setsOf(one), ...(returned[0] ?? [])])];
}

/** The columns that a text is made of: it has all their words, and no other. Empty: it is no such text, or a copy. */
function sourcesIn(row: Row, column: string): string[] {
  const text = row.get(column) ?? '';
  const others = [...row].filter(([name, value]) => name !== column && wordsOf(value).length > 0);
  const sources = others.filter(([, value]) => hasWords(text, value));
  const isWhole = hasWords(sources.map(([, value]) => value).join(' '), text);
  return wordsOf(text).length === 0 || !isWhole || others.some(([, value]) => value === text)
    ? []
    : sources.map(([name]) => name);
}

/** A text that may be of other columns, as they were: it has words of them, and others. */
function mayBeOld(row: Row, column: string): boolean {
  const words = wordsOf(row.get(column) ?? '');
  const others = [...row].flatMap(([name, value]) => (name === column ? [] : wordsOf(value)));
  const isOld = words.some((word) => !others.includes(word));
  return (
    !STAYS.test(column) && isOld && (OF_SEARCH.test(column) || words.some((word) => others.includes(word)))
  );
}

interface Stale {
  read: Read;
  column: string;
  text: string;
  sources: readonly string[];
  made: OtherRequest;
  changed: { request: OtherRequest; one: Read; column: string; value: string };
}

/** The request that made the text of a column, not received it, from columns such as this. */
function makerOf(
  before: readonly OtherRequest[],
  table: string | null,
  { column, text, source }: Record<'column' | 'text' | 'source', string>,
) {
  for (const request of before.toReversed()) {
    const { database, request: received = {} } = request.kept;
    if (database === undefined || receivedFields(received).some(({ value }) => value === text)) continue;
    for (const one of readsOf(database).filter((write) => isWrite(write) && write.read.table === table)) {
      const row = rowsAfter(database, one).find((each) => each.get(column) === text);
      const sources = row === undefined ? [] : sourcesIn(row, column);
      // A status may have the word of another, and a label may begin as that of its parts.
      const isMade =
        OF_SEARCH.test(column) ||
        (one.read.verb === 'update' &&
          setsOf(one).has(column) &&
          !sources.some((name) => hasWords(row?.get(name) ?? '', text)));
      if (isMade && sources.includes(source)) return { made: request, sources };
    }
  }
  return null;
}

/** Texts that a request read, made before one of their columns was changed alone. `before`: the oldest first. */
function staleIn(own: OtherRequest, before: readonly OtherRequest[]): Stale[] {
  const { database } = own.kept;
  const all = [...before, own];
  const updates = all.flatMap((request, at) =>
    readsOf(request.kept.database)
      .filter(({ read }) => read.verb === 'update')
      .map((one) => ({ request, one, earlier: all.slice(0, at) })),
  );
  if (database === undefined || updates.length === 0) return [];
  return readsOf(database).flatMap((read): Stale[] => {
    const written = updates.filter(
      ({ request, one }) => one.read.table === read.read.table && (request !== own || one.index < read.index),
    );
    if (read.read.verb !== 'select' || written.length === 0) return [];
    return rowsIn(database, read.query).flatMap((row) => {
      const last = written.findLast(({ one }) => isAbout(one, row));
      // A job may renew it.
      if (last === undefined || (last.request.kept.jobs?.items.length ?? 0) > 0) return [];
      const { one, request, earlier } = last;
      const sets = [...setsOf(one)].filter(([source, value]) => row.get(source) === value);
      return [...row].flatMap(([column, text]): Stale[] => {
        if (!mayBeOld(row, column) || one.read.sets.some((set) => set.column === column)) return [];
        for (const [source, value] of sets) {
          if (hasWords(text, value)) continue;
          const maker = makerOf(earlier, read.read.table, { column, text, source });
          if (maker !== null)
            return [{ read, column, text, ...maker, changed: { request, one, column: source, value } }];
        }
        return [];
      });
    });
  });
}

/** A search by a text column that found nothing. */
function searchesIn(database: Database | undefined): { read: Read; column: string; text: string }[] {
  return readsOf(database).flatMap((read) =>
    read.read.verb !== 'select' || read.query.rows !== 0
      ? []
      : (read.read.where ?? []).flatMap(({ column, operator, values }) => {
          const text = folded(givenText(values[0], read.query) ?? '').replace(/^[%\s]+|[%\s]+$/g, '');
          return /^(?:i?like|=)$/.test(operator) && !STAYS.test(column) && text.length > 2
            ? [{ read, column, text }]
            : [];
        }),
  );
}

function readsOld({ database }: Needs<'database'>): boolean {
  const rows = readsOf(database).flatMap(({ read, query }) =>
    read.verb === 'select' ? rowsIn(database, query) : [],
  );
  return (
    searchesIn(database).length > 0 || rows.some((row) => [...row.keys()].some((name) => mayBeOld(row, name)))
  );
}

export const derivedTextStale: Rule<Needs<'database', 'request' | 'jobs'>> = {
  name: 'derived-text-stale',
  needs: ['database'],
  labels: ['stale text'],
  why: 'An earlier request wrote a text made of the words of other columns of the row. An UPDATE then set one of these columns, and not the text. It was read with the old words, or a search by it for a new one found no row.',
  fix: 'Set both in one statement, or load the row and `save()` it: `update()` of a TypeORM repository and bulk updates run no subscribers and hooks of instances. A generated column of the database can’t be forgotten.',
  compares: readsOld,
  relates: readsOld,
  find(kept, head, { earlier, siblings }) {
    const { database } = kept;
    const own: OtherRequest = { head, kept };
    const before = [...earlier, ...siblings].toSorted((a, b) => a.head.startedAt - b.head.startedAt);
    const of = ({ column, text, sources, made, changed: { request, one, column: set } }: Stale): string => {
      const by = request === own ? '' : ` of ${requestText(request.head)}`;
      const update = `${labelOf(request.kept.database ?? database, one.query)}${by}${bracketed(one.query.caller)}`;
      return `${update} set ${excerpt(set, 40)} and not ${excerpt(column, 40)}, which ${requestText(made.head)} had made of ${listOf(sources)}: it is still “${excerpt(text, 60)}”`;
    };
    const [stale] = staleIn(own, before);
    if (stale !== undefined) {
      const { one, request } = stale.changed;
      return [{ ...draftAt(request === own ? one : stale.read, of(stale), 'bad'), place: one.query.caller }];
    }
    for (const { read, column, text } of searchesIn(database)) {
      const all = before.flatMap((other, at) => staleIn(other, before.slice(0, at)));
      const missed = all.findLast(
        (one) =>
          one.read.read.table === read.read.table &&
          one.column === column &&
          folded(one.changed.value).includes(text),
      );
      if (missed === undefined) continue;
      const sentence = `${labelOf(database, read.query)} found no row by ${excerpt(column, 40)}: ${of(missed)}`;
      const draft: FindingDraft = draftAt(read, sentence, 'bad');
      return [{ ...draft, broke: 'response', place: missed.changed.one.query.caller }];
    }
    return [];
  },
};
