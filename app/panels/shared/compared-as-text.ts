/** A condition in the source that held only because two numbers, which the request got as texts, were compared as texts. */
import type { SourceExcerpt } from '../../profiler/record/thrown.ts';
import { sameName } from './compare-values.ts';
import { foundRows } from './found-rows.ts';
import { type Leaf, leavesIn, leavesOf } from './json-leaves.ts';
import type { Kept } from './panel-data.ts';
import { receivedFields } from './received.ts';

const NUMBER = /^-?\d+(?:\.\d+)?$/;
const CHAIN = String.raw`[A-Za-z_$][\w$]*(?:\??\.[A-Za-z_$][\w$]*)*`;
/** Nothing else: a conversion of one of them makes numbers of both. */
const COMPARED = new RegExp(String.raw`^(${CHAIN})\s*(<=|>=|<|>)\s*(${CHAIN})$`);
/** From a throw or a response back to its condition. */
const MOST_LINES = 3;

type Values = ReadonlyMap<string, ReadonlySet<Leaf['value']>>;

/** The values that a request got, by name. */
export function valuesByName({ request, database, cache, http_client: client }: Partial<Kept>): Values {
  const leaves = [
    ...(request === undefined ? [] : receivedFields(request)),
    ...leavesOf(request?.sessionAndUser?.session ?? null),
    ...leavesOf(request?.sessionAndUser?.user ?? null),
    ...(database?.queries ?? []).flatMap((query) => leavesOf(foundRows(query))),
    ...(cache?.items ?? []).flatMap(({ found }) =>
      typeof found?.value === 'string' ? leavesIn(found.value) : leavesOf(found?.value ?? null),
    ),
    ...(client?.calls ?? []).flatMap(({ responseBody }) => leavesIn(responseBody?.text ?? '')),
  ];
  const values = new Map<string, Set<Leaf['value']>>();
  for (const { name, value } of leaves) {
    const key = sameName(name);
    values.set(key, (values.get(key) ?? new Set()).add(value));
  }
  return values;
}

/** The text in the brackets of the `if` before what stands at the end; null if it is another branch. */
function conditionIn(text: string): string | null {
  const start = text.lastIndexOf('if (') + 'if ('.length;
  let depth = 1;
  let end = start;
  for (; end < text.length && depth > 0; end++)
    depth += Number(text[end] === '(') - Number(text[end] === ')');
  const rest = text.slice(end);
  // Without a block, one statement belongs to it. On the last line, a brace may be one of a template.
  const isOver = /^\s*[^\s{].*\n/.test(rest) || /\belse\b|\}.*\n/.test(rest);
  return start < 'if ('.length || depth > 0 || isOver ? null : text.slice(start, end - 1);
}

function holds(one: string | number, operator: string, other: string | number): boolean {
  if (operator === '<') return one < other;
  if (operator === '<=') return one <= other;
  return operator === '>' ? one > other : one >= other;
}

/** The only value of a name, if it is a number as a text; null: another kind, several or none. */
function numberText(chain: string, values: Values): string | null {
  const [value, ...others] = values.get(sameName(chain.split('.').at(-1) ?? '')) ?? [];
  return typeof value === 'string' && others.length === 0 && NUMBER.test(value) ? value : null;
}

/** The comparison that led to a line, such as `bid.amount <= lot.highest`; null if it is none of this kind. */
export function comparedAsText({ from, lines }: SourceExcerpt, line: number, values: Values): string | null {
  const before = lines.slice(Math.max(0, line - from - MOST_LINES + 1), line - from + 1);
  const condition = conditionIn(before.join('\n'));
  if (condition === null || /\|\||\?[^.]/.test(condition)) return null;
  for (const part of condition.split('&&').map((text) => text.trim())) {
    const [, one = '', operator = '', other = ''] = COMPARED.exec(part) ?? [];
    const [first, second] = [numberText(one, values), numberText(other, values)];
    if (first === null || second === null) continue;
    if (holds(first, operator, second) && !holds(Number(first), operator, Number(second))) return part;
  }
  return null;
}
