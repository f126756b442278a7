/** Results of work that ran at once, sent with the key of another one. */
import { sameName } from '../panels/shared/compare-values.ts';
import { foundRows } from '../panels/shared/found-rows.ts';
import { type Leaf, leavesOf, parseBeginning } from '../panels/shared/json-leaves.ts';
import { decodeSafely } from '../panels/shared/received.ts';
import { groupBy } from '../profiler/group-by.ts';
import { isRecord, type Json } from '../profiler/json.ts';
import { isMasked } from '../profiler/masking/redact.ts';
import type { FindingDraft } from '../profiler/read/finding-rule.ts';
import { isReading } from './shared/calls.ts';
import { endOf, type Interval, type Kept, type Needs, type Rule } from './shared/kept.ts';
import { readsOf, rowOf, textOf } from './shared/queries.ts';
import { sentValues } from './shared/sent.ts';
import { isSuccess } from './shared/http.ts';
import { count, excerpt, listOf } from './shared/wording.ts';

type Fields = ReadonlyMap<string, Leaf>;

interface Asked extends Pick<FindingDraft, 'panel' | 'anchor' | 'place'> {
  what: string;
  /** Equal for all of one template. */
  template: string;
  parts: readonly string[];
  result: Fields;
  ran: Interval;
}

interface Keyed extends Asked {
  key: string;
}

const MOST_FIELDS = 30;
const MOST_OF_TEMPLATE = 50;

/** Fields by their names; a name that two have says nothing. */
function fieldsOf(leaves: readonly Leaf[]): Fields {
  const byName = groupBy(leaves, ({ name }) => sameName(name));
  return new Map(
    Array.from(byName).flatMap(([name, [leaf, ...others]]) =>
      leaf === undefined || others.length > 0 ? [] : [[name, leaf] as const],
    ),
  );
}

/** Of one object with few values; null for anything else. */
function resultOf(value: Json | undefined): Fields | null {
  if (!isRecord(value)) return null;
  const leaves = leavesOf(value, MOST_FIELDS + 1);
  return leaves.length === 0 || leaves.length > MOST_FIELDS ? null : fieldsOf(leaves);
}

function callsIn({ http_client }: Partial<Kept>): Asked[] {
  return (http_client?.calls ?? []).flatMap((call, index): Asked[] => {
    const { url, responseBody, caller: place } = call;
    const isWhole = isReading(call) && isSuccess(call.status) && responseBody?.truncated === false;
    const result = isWhole ? resultOf(parseBeginning(responseBody.text ?? '')?.value) : null;
    if (result === null) return [];
    const [path = '', query = ''] = url.split('?');
    const segments = path.split('/').map((part) => decodeSafely(part));
    const parameters = [...new URLSearchParams(query)];
    const names = parameters.map(([name]) => name).join('&');
    return [
      {
        what: 'call',
        template: `call ${call.method} ${place ?? ''} ${segments.length} ${names}`,
        parts: [...segments, ...parameters.map(([, value]) => value)],
        result,
        ran: call,
        panel: 'http_client',
        anchor: `c${index + 1}`,
        place,
      },
    ];
  });
}

function queriesIn({ database }: Partial<Kept>): Asked[] {
  return readsOf(database).flatMap(({ query, index, read }): Asked[] => {
    const [row, ...others] = read.verb === 'select' ? foundRows(query) : [];
    const result = query.rows === 1 && others.length === 0 ? resultOf(row) : null;
    if (result === null) return [];
    return [
      {
        what: 'statement',
        template: `query ${query.statement} ${query.caller ?? ''}`,
        parts: query.bindings.map(({ value }) => textOf(value) ?? ''),
        result,
        ran: query,
        panel: 'database',
        anchor: rowOf(index),
        place: query.caller,
      },
    ];
  });
}

function cacheReadsIn({ cache }: Partial<Kept>): Asked[] {
  return (cache?.items ?? []).flatMap((item, index): Asked[] => {
    const { command, key, found, hits, caller: place } = item;
    const value = found?.value;
    const result =
      hits === 1 ? resultOf(typeof value === 'string' ? parseBeginning(value)?.value : value) : null;
    const parts = key?.split(/[:/|]/) ?? [];
    if (result === null || parts.length === 0) return [];
    const template = `cache ${command} ${place ?? ''} ${parts.length}`;
    return [
      {
        what: 'cache read',
        template,
        parts,
        result,
        ran: item,
        panel: 'cache',
        anchor: `k${index + 1}`,
        place,
      },
    ];
  });
}

/** With the one part in which all of a template differ; none if there are several, or if none ran beside another. */
function keyed(alike: readonly Asked[]): Keyed[] {
  const [first] = alike;
  if (first === undefined || alike.length < 2 || alike.length > MOST_OF_TEMPLATE) return [];
  const [at, ...others] = first.parts.flatMap((part, index) =>
    alike.every(({ parts }) => parts[index] === part) ? [] : [index],
  );
  if (at === undefined || others.length > 0) return [];
  const found = alike.map((one) => ({ ...one, key: one.parts[at] ?? '' }));
  const keys = new Set(found.map(({ key }) => key));
  const ran = found.map((one) => one.ran).sort((a, b) => a.startMs - b.startMs);
  const isAtOnce = ran.some((one, at) => (ran[at + 1]?.startMs ?? Infinity) < endOf(one));
  const isKnown = found.every(({ key }) => key !== '' && !isMasked(key));
  return isAtOnce && isKnown && keys.size === found.length ? found : [];
}

interface Item {
  key: string;
  fields: Fields;
}

/** The outermost objects that have one of the keys, or are a member of that name. */
function itemsIn(value: Json, keys: ReadonlySet<string>, depth = 0): Item[] {
  if (typeof value !== 'object' || value === null || depth > 8) return [];
  if (Array.isArray(value)) return value.flatMap((part) => itemsIn(part, keys, depth + 1));
  const leaves = leavesOf(value);
  const [key, ...others] = new Set(leaves.map((leaf) => String(leaf.value)).filter((text) => keys.has(text)));
  if (key !== undefined && others.length === 0) return [{ key, fields: fieldsOf(leaves) }];
  return Object.entries(value).flatMap(([name, part]) =>
    keys.has(name) && isRecord(part)
      ? [{ key: name, fields: fieldsOf(leavesOf(part)) }]
      : itemsIn(part, keys, depth + 1),
  );
}

/** A small number is the key of many things. */
function isTelling(key: string): boolean {
  return /\p{L}/u.test(key) || key.length > 4;
}

interface Swap {
  wrong: { key: string; of: string }[];
  names: string[];
  isOtherOrder: boolean;
}

function swapIn(asked: readonly Keyed[], items: readonly Item[]): Swap | null {
  if (items.length < 2) return null;
  const names = [...(asked[0]?.result.keys() ?? [])].filter(
    (name) =>
      asked.every(({ result, key }) => result.has(name) && String(result.get(name)?.value) !== key) &&
      items.every(({ fields }) => fields.has(name)),
  );
  const valuesOf = (fields: Fields): string =>
    JSON.stringify(names.map((name) => fields.get(name)?.value ?? null));
  const keyOf = new Map(asked.map(({ result, key }) => [valuesOf(result), key]));
  // A switch has two values, and a response may have the other one.
  const isSwitch = names.every((name) =>
    asked.some(({ result }) => !/^(?:string|number)$/.test(typeof result.get(name)?.value)),
  );
  if (isSwitch || keyOf.size < asked.length) return null;
  const got = items.flatMap(({ key, fields }) => {
    const of = keyOf.get(valuesOf(fields));
    return of === undefined ? [] : [{ key, of }];
  });
  const wrong = got.filter(({ key, of }) => key !== of);
  const isPermutation = new Set(got.map(({ key }) => key)).size === new Set(got.map(({ of }) => of)).size;
  if (wrong.length < 2 || got.length < items.length || !isPermutation) return null;
  const began = [...asked].sort((a, b) => a.ran.startMs - b.ran.startMs).map(({ key }) => key);
  const ended = [...asked].sort((a, b) => endOf(a.ran) - endOf(b.ran)).map(({ key }) => key);
  const isByEnd =
    got.length === asked.length && got.every(({ key, of }, at) => key === began[at] && of === ended[at]);
  if (!isByEnd && !asked.every(({ key }) => isTelling(key))) return null;
  const isOtherOrder = began.some((key, at) => key !== ended[at]);
  return { wrong, names: names.map((name) => asked[0]?.result.get(name)?.name ?? name), isOtherOrder };
}

export const resultsSwapped: Rule<Needs<'request', 'http_client' | 'database' | 'cache' | 'views'>> = {
  name: 'results-swapped',
  needs: ['request'],
  labels: ['results swapped'],
  why: 'Calls, statements or cache reads that differ in one key ran at once, and each had another result. The response has at least two of the keys with all values of another key’s result, and no item has other values.',
  fix: 'Keep each result with its key: `await Promise.all(ids.map(load))` returns them in the order of `ids`, or put them into a `Map` by key. A `push` in parallel tasks adds them in the order in which they end.',
  find(kept, { status }) {
    if (!isSuccess(status)) return [];
    const asked = [...callsIn(kept), ...queriesIn(kept), ...cacheReadsIn(kept)];
    const groups = [...groupBy(asked, ({ template }) => template).values()].map((alike) => keyed(alike));
    const sent = groups.every(({ length }) => length === 0) ? [] : sentValues(kept);
    return groups.flatMap((alike): FindingDraft[] => {
      const keys = new Set(alike.map(({ key }) => key));
      for (const value of keys.size === 0 ? [] : sent) {
        const swap = swapIn(alike, itemsIn(value, keys));
        const [first, ...others] = swap?.wrong ?? [];
        const at = alike.find(({ key }) => key === first?.key);
        if (swap === null || first === undefined || at === undefined) continue;
        const order = swap.isOtherOrder ? ' and ended in another order than they began' : '';
        const more = `${count(others.length, 'other item')} ${others.length === 1 ? 'has' : 'have'}`;
        const sentence = `The response gives ${excerpt(first.key, 40)} the ${listOf(swap.names)} of ${excerpt(first.of, 40)}, and ${more} those of another: ${count(alike.length, at.what)} ran at once${order}`;
        const { panel, anchor, place } = at;
        return [{ broke: 'response', severity: 'bad', sentence, panel, anchor, place }];
      }
      return [];
    });
  },
};
