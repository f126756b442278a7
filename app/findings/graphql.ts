/** GraphQL: arguments of a field that got into no statement. */
import { leavesOf, objectsIn, parseBeginning } from '../panels/shared/json-leaves.ts';
import type { FindingDraft } from '../profiler/read/finding-rule.ts';
import { groupBy } from '../profiler/group-by.ts';
import { isRecord, type Json } from '../profiler/json.ts';
import type { Kept, Needs, Rule } from './shared/kept.ts';
import { draftAt, hasValue, labelOf, PRIMARY, textOf } from './shared/queries.ts';
import { excerpt, listOf } from './shared/wording.ts';

interface Aliased {
  alias: string;
  field: string;
  /** Values by the names of arguments; variables are resolved. */
  values: Map<string, string>;
}

type Operation = Kept['graphql']['items'][number];

const ALIASED = /(\w+)\s*:\s*(\w+)\s*\(([^()[\]{}]*)\)/y;
const ARGUMENT = /(\w+)\s*:\s*("(?:[^"\\]|\\.)*"|\$?[\w.-]+)/g;

function argumentsIn(text: string, variables: Json): Map<string, string> {
  const given = isRecord(variables) ? variables : {};
  return new Map(
    Array.from(text.matchAll(ARGUMENT), ([, name = '', value = '']) => {
      const known = value.startsWith('$') ? (textOf(given[value.slice(1)]) ?? value) : value;
      return [name, known.replace(/^"(.*)"$/s, '$1')] as const;
    }),
  );
}

/** Fields that a selection asks for under other names, for each pair of braces. */
function selectionsOf({ document, variables }: Operation): Aliased[][] {
  const selections: Aliased[][] = [];
  const open: Aliased[][] = [];
  for (let at = 0; at < document.length; at++) {
    const character = document[at];
    if (character === '{') {
      const selection: Aliased[] = [];
      selections.push(selection);
      open.push(selection);
    } else if (character === '}') open.pop();
    else if (character === '"') at = Math.max(at, document.indexOf('"', at + 1));
    ALIASED.lastIndex = at;
    const [found, alias = '', field = '', text = ''] =
      at > 0 && /\w/.test(document[at - 1] ?? '') ? [] : (ALIASED.exec(document) ?? []);
    if (found === undefined) continue;
    open.at(-1)?.push({ alias, field, values: argumentsIn(text, variables) });
    at += found.length - 1;
  }
  return selections;
}

interface Varied {
  field: string;
  argument: string;
  aliases: readonly Aliased[];
}

/** A field that is asked for with several values of one argument, all others being equal. */
function variedIn(selection: readonly Aliased[]): Varied[] {
  return [...groupBy(selection, ({ field }) => field)].flatMap(([field, aliases]): Varied[] => {
    const names = new Set(aliases.flatMap(({ values }) => [...values.keys()]));
    const varied = [...names].filter(
      (name) => new Set(aliases.map(({ values }) => values.get(name))).size > 1,
    );
    const [argument] = varied;
    if (argument === undefined || varied.length > 1) return [];
    // A number may stand in a statement for something else, and the first 5 of 3 rows are also the first 10.
    const areNames = aliases.every(({ values }) =>
      /^(?!true$|false$|null$)[^$]*[a-z]/i.test(values.get(argument) ?? ''),
    );
    return areNames ? [{ field, argument, aliases }] : [];
  });
}

/** What a result says, without texts that are made for a reader, and without ids; null: nothing. */
function numbersOf(result: Json | undefined): string | null {
  const numbers = leavesOf(result ?? null)
    .filter(({ name, value }) => typeof value === 'number' && value !== 0 && !PRIMARY.test(name))
    .map(({ path, value }) => `${path} ${value}`);
  return numbers.length === 0 ? null : numbers.join('\n');
}

function areEqual({ aliases }: Varied, objects: readonly Record<string, Json>[]): boolean {
  const parents = objects.filter((object) => aliases.every(({ alias }) => alias in object));
  return (
    parents.length > 0 &&
    parents.every((parent) => {
      const results = new Set(aliases.map(({ alias }) => numbersOf(parent[alias])));
      return results.size === 1 && !results.has(null);
    })
  );
}

type Given = Needs<'graphql' | 'database' | 'request', 'http_client' | 'cache'>;

/** Whether a value got anywhere: into a statement, a call or a key of a cache. */
function usesOf({ database, http_client: client, cache }: Given, value: string) {
  const index = database.queries.findIndex((query) => hasValue(database, query, value));
  const elsewhere = JSON.stringify([
    client?.calls.map(({ url, requestBody }) => [url, requestBody]),
    cache?.items.map(({ key, args }) => [key, args]),
  ]);
  return { index, isElsewhere: elsewhere.includes(value) };
}

const argumentIgnored: Rule<Given> = {
  name: 'argument-ignored',
  needs: ['graphql', 'database', 'request'],
  labels: ['argument ignored'],
  why: 'An operation asks for one field with several values of an argument. Only one of the values got into a statement, none into a call or a cache, and all results have the same numbers.',
  fix: 'Add the argument to the key of the DataLoader or cache, such as `cacheKeyFn: ({ id, currency }) => [id, currency].join()`. If the resolver ignores it, pass it on.',
  find(kept) {
    const { graphql, database, request } = kept;
    const isCut =
      database.unkept !== undefined ||
      database.queries.some(({ bindings }) => bindings.some(({ type }) => type === 'cut'));
    const varied = isCut ? [] : graphql.items.flatMap(selectionsOf).flatMap(variedIn);
    if (varied.length === 0) return [];
    const objects = objectsIn(parseBeginning(request.response?.text ?? '')?.value ?? null);
    return varied.flatMap((one): FindingDraft[] => {
      const values = [...new Set(one.aliases.map((aliased) => aliased.values.get(one.argument) ?? ''))];
      const uses = values.map((value) => ({ value, ...usesOf(kept, value) }));
      const [used, ...more] = uses.filter(({ index, isElsewhere }) => index !== -1 || isElsewhere);
      const query = database.queries[used?.index ?? -1];
      if (used === undefined || more.length > 0 || query === undefined || !areEqual(one, objects)) return [];
      const { index, value } = used;
      const sentence = `${excerpt(one.field, 40)} is asked for with ${excerpt(one.argument, 40)} ${listOf(values)}, but only ${excerpt(value, 40)} got into a statement (${labelOf(database, query)}), and all of them have the same numbers: the result of one is used for the others`;
      return [{ ...draftAt({ query, index }, sentence, 'bad'), broke: 'response' }];
    });
  },
};

export const graphqlRules: readonly Rule[] = [argumentIgnored];
