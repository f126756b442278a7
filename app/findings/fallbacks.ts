/** A stored 0, `false` or empty text for which the value of another column was sent. */
import { sameName } from '../panels/shared/compare-values.ts';
import { foundRows } from '../panels/shared/found-rows.ts';
import { objectsIn } from '../panels/shared/json-leaves.ts';
import { primaryKeyOf } from '../panels/shared/primary-key.ts';
import { addTo } from '../profiler/group-by.ts';
import type { Json } from '../profiler/json.ts';
import { isMasked } from '../profiler/masking/redact.ts';
import type { FindingDraft } from '../profiler/read/finding-rule.ts';
import type { Needs, Rule } from './shared/kept.ts';
import { draftAt, PRIMARY, type Read, readsOf, textOf } from './shared/queries.ts';
import { sentValues } from './shared/sent.ts';
import { isSuccess } from './shared/http.ts';
import { count, excerpt, snakeCase } from './shared/wording.ts';

type Fields = Record<string, Json>;

interface Pair {
  row: Fields;
  item: Fields;
}

interface Names {
  column: string;
  fallback: string;
  field: string;
}

/** What `||` takes for missing, aside from null. */
function isFalsy(value: Json | undefined): boolean {
  return value === 0 || value === false || value === '';
}

function isPlain(value: Json | undefined): boolean {
  if (typeof value === 'string') return value !== '' && !isMasked(value);
  return value === true || (typeof value === 'number' && value !== 0);
}

/** An equal id alone may be that of something else. */
function sharesText(row: Fields, item: Fields): boolean {
  return Object.entries(row).some(
    ([column, value]) =>
      typeof value === 'string' &&
      value !== '' &&
      !PRIMARY.test(column) &&
      Object.entries(item).some(([name, sent]) => sent === value && sameName(name) === sameName(column)),
  );
}

function idOf(fields: Fields): string | null {
  return textOf(primaryKeyOf(fields));
}

function pairsOf({ query }: Read, items: ReadonlyMap<string, readonly Fields[]>): Pair[] {
  return foundRows(query).flatMap((row) => {
    const item = items.get(idOf(row) ?? '')?.find((one) => sharesText(row, one));
    return item === undefined ? [] : [{ row, item }];
  });
}

/** `category_min_stock` is what `min_stock` falls back to. */
function isInherited({ column, fallback }: Pick<Names, 'column' | 'fallback'>): boolean {
  return fallback.length > column.length && sameName(fallback).includes(sameName(column));
}

/** Whether `minimum` means `min_stock` rather than `category_min_stock`, and neither is sent beside it. */
function isNamedAs({ column, fallback, field }: Names, { item }: Pair): boolean {
  const words = (name: string): string[] => snakeCase(name).toLowerCase().split('_');
  const [own = ''] = words(column);
  const added = words(fallback).filter((word) => !words(column).includes(word));
  return (
    own.length > 2 &&
    sameName(field).startsWith(own) &&
    !added.some((word) => sameName(field).includes(word)) &&
    !Object.keys(item).some(
      (name) => name !== field && [column, fallback].some((one) => sameName(one) === sameName(name)),
    )
  );
}

/** The rows whose stored value was replaced, and how many have the fallback for null; null: that is not shown. */
function replacedIn(pairs: readonly Pair[], names: Names): { shown: Pair; nulls: number } | null {
  const { column, fallback, field } = names;
  const falsy = pairs.filter(({ row }) => isFalsy(row[column]));
  const nulls = pairs.filter(({ row }) => row[column] === null);
  const others = pairs.filter(({ row }) => !isFalsy(row[column]) && row[column] !== null);
  const [shown] = falsy;
  const isReplaced = [...falsy, ...nulls].every(
    ({ row, item }) => isPlain(row[fallback]) && item[field] === row[fallback],
  );
  if (shown === undefined || !isReplaced || others.some(({ row, item }) => item[field] !== row[column]))
    return null;
  // 1 may be a minimum, or true.
  if (falsy.every(({ row }) => row[fallback] === 1 || row[fallback] === true)) return null;
  const isOwn = others.some(({ row }) => row[column] !== row[fallback]);
  const inherits = isInherited(names);
  const isNumber = falsy.every(({ row }) => row[column] === 0);
  const isMeant = isNumber ? nulls.length > 0 || inherits : nulls.length > 0 && inherits;
  const isProven = isOwn ? isMeant : isMeant && inherits && nulls.length > 0 && isNamedAs(names, shown);
  return isProven ? { shown, nulls: nulls.length } : null;
}

const MOST_READS = 50;

export const zeroReplaced: Rule<Needs<'database' | 'request', 'views'>> = {
  name: 'zero-replaced',
  needs: ['database', 'request'],
  labels: ['taken for missing'],
  why: 'Rows were sent, matched by id and a text. A field has the value of one column, but of another if that is 0, `false` or empty. Null, or a name such as `default_limit` for `limit`, shows that the other one is a fallback.',
  fix: 'Use `??` in place of `||`: `row.limit ?? row.default_limit`. `||` takes 0, `false` and `""` for missing. If 0 is meant as none, store null.',
  find({ database, request, views }, { status }) {
    const reads = readsOf(database)
      .filter(
        ({ read, query }) =>
          read.verb === 'select' && foundRows(query).some((row) => Object.values(row).some(isFalsy)),
      )
      .slice(0, MOST_READS);
    if (reads.length === 0 || !isSuccess(status)) return [];
    const items = new Map<string, Fields[]>();
    for (const item of sentValues({ request, ...(views && { views }) }).flatMap((value) => objectsIn(value)))
      addTo(items, idOf(item) ?? '', item);
    return reads
      .flatMap((one): FindingDraft[] => {
        const pairs = pairsOf(one, items);
        const columns = Object.keys(pairs[0]?.row ?? {}).filter((name) => !PRIMARY.test(name));
        for (const column of columns) {
          const falsy = pairs.find(({ row }) => isFalsy(row[column]));
          for (const fallback of falsy === undefined ? [] : columns)
            for (const field of Object.keys(falsy?.item ?? {})) {
              // Most combinations end here.
              if (
                falsy === undefined ||
                !isPlain(falsy.item[field]) ||
                falsy.item[field] !== falsy.row[fallback]
              )
                continue;
              const found = replacedIn(pairs, { column, fallback, field });
              if (found === null) continue;
              const { row, item } = found.shown;
              const value = row[column] === '' ? 'an empty text' : JSON.stringify(row[column]);
              const nulls = found.nulls === 0 ? '' : `, as null does in ${count(found.nulls, 'other row')}`;
              const sentence = `${excerpt(column, 40)} is ${value} in row ${excerpt(idOf(row) ?? '', 40)}, but ${excerpt(field, 40)} was sent as ${excerpt(JSON.stringify(item[field]), 40)}, which is ${excerpt(fallback, 40)}: ${value} seems to count as missing${nulls}`;
              return [draftAt(one, sentence, 'bad')];
            }
        }
        return [];
      })
      .slice(0, 1);
  },
};
