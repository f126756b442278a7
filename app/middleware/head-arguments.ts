/**
 * Headers as they are sent: those among the arguments of `writeHead`, whose form is an object, a flat list or a list of pairs, and those that
 * were set before.
 */
import type { ServerResponse } from 'node:http';
import { OutgoingMessage } from '../node-http.ts';
import { groupBy } from '../profiler/group-by.ts';

type Pair = [name: string, value: unknown];

function indexIn(args: readonly unknown[]): number {
  return typeof args[1] === 'string' || (args[2] ?? null) !== null ? 2 : 1;
}

function pairsIn(args: readonly unknown[]): Pair[] {
  const given = args[indexIn(args)];
  if (typeof given !== 'object' || given === null) return [];
  if (!Array.isArray(given)) return Object.entries(given);
  if (Array.isArray(given[0])) return given as Pair[];
  return Array.from({ length: Math.floor(given.length / 2) }, (_, i) => [
    String(given[2 * i]),
    given[2 * i + 1],
  ]);
}

function withPairs(args: readonly unknown[], pairs: readonly Pair[]): unknown[] {
  const index = indexIn(args);
  const given = args[index];
  const isFlat = Array.isArray(given) && !Array.isArray(given[0]);
  return args.with(index, isFlat ? pairs.flat() : Object.fromEntries(pairs));
}

/**
 * The same headers, each name once. With a header set, as ours are, Node.js refuses a list of pairs, and sends one line for each name.
 * Without one it sends them all.
 */
export function withEachNameOnce(args: unknown[]): unknown[] {
  const given = args[indexIn(args)];
  if (!Array.isArray(given) || (!Array.isArray(given[0]) && given.length % 2 === 1)) return args;
  const byName = groupBy(pairsIn(args), ([name]) => name.toLowerCase());
  const headers = [...byName.values()].map((pairs): Pair => {
    const [first] = pairs;
    return [first?.[0] ?? '', pairs.length === 1 ? first?.[1] : pairs.flatMap(([, value]) => value)];
  });
  return args.with(indexIn(args), Object.fromEntries(headers));
}

export function valueText(value: unknown): string {
  return Array.isArray(value) ? value.join(', ') : String((value as string | undefined) ?? '');
}

export function sentText(res: ServerResponse, args: readonly unknown[], name: string): string {
  const passed = pairsIn(args).filter((pair) => pair[0].toLowerCase() === name);
  return valueText(passed.length > 0 ? passed.map(([, value]) => valueText(value)) : res.getHeader(name));
}

export function changeHeader(
  res: ServerResponse,
  args: unknown[],
  name: string,
  change: (text: string) => string | null,
): unknown[] {
  try {
    const text = change(sentText(res, args, name));
    if (text === null) return args;
    const pairs = pairsIn(args);
    const isIt = (pair: Pair): boolean => pair[0].toLowerCase() === name;
    const passed = pairs.find(isIt);
    if (passed !== undefined)
      return withPairs(args, [...pairs.filter((pair) => !isIt(pair)), [passed[0], text]]);
    // Node's own method, which is not observed: no layer sets this header.
    OutgoingMessage.prototype.setHeader.call(res, name, text);
  } catch {}
  return args;
}
