/** Calls that belong together: tried again after a failure, asked for twice, made in a loop; and where a redirect led. */
import type { CallEntry } from './index.ts';
import { isFailed } from './outcome.ts';

/** `retry`: the same again after it failed. `repeated`: the same although it did not. `loop`: from one line, to addresses alike. */
export type CallGroupKind = 'retry' | 'repeated' | 'loop';

export interface CallGroup {
  kind: CallGroupKind;
  /** Indexes of its calls, in the order they were made. */
  members: number[];
  /** `https://rates.example/products/…`. */
  url: string;
}

/** From here on calls to addresses alike are a loop. */
const LOOP_FROM = 3;
/** Parts of a path that are values: numbers, UUIDs, hashes. */
const VALUE = /^(?:\d+|[0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{16,}|[0-9a-f]*\d[0-9a-f]{5,})$/i;

/** The address without its query, and with `…` for what is a value. */
function shapeOf(url: string): string {
  const [, origin = '', path = ''] = /^([a-z]+:\/\/[^/?#]*)?([^?#]*)/i.exec(url) ?? [];
  return origin + path.split('/').map((part) => (VALUE.test(part) ? '…' : part)).join('/'); // prettier-ignore
}

function kindOf(calls: readonly CallEntry[], members: readonly number[]): CallGroupKind | null {
  const entries = members.flatMap((index) => calls[index] ?? []);
  if (new Set(entries.map(({ url }) => url)).size === 1)
    return entries.slice(0, -1).some((call) => isFailed(call) || call.status === 429) ? 'retry' : 'repeated';
  return members.length >= LOOP_FROM ? 'loop' : null;
}

function collect(calls: readonly CallEntry[], keyOf: (call: CallEntry) => string): number[][] {
  const byKey = new Map<string, number[]>();
  calls.forEach((call, index) => {
    const key = keyOf(call);
    const members = byKey.get(key);
    if (members === undefined) byKey.set(key, [index]);
    else members.push(index);
  });
  return [...byKey.values()].filter((members) => members.length > 1);
}

export function groupCalls(calls: readonly CallEntry[]): CallGroup[] {
  const groups: CallGroup[] = [];
  const taken = new Set<number>();
  const add = (members: readonly number[], url: (call: CallEntry) => string): void => {
    const free = members.filter((index) => !taken.has(index));
    const first = calls[free[0] ?? -1];
    const kind = free.length < 2 ? null : kindOf(calls, free);
    if (kind === null || first === undefined) return;
    groups.push({ kind, members: free, url: url(first) });
    for (const index of free) taken.add(index);
  };
  for (const members of collect(
    calls,
    ({ method, url, caller }) => `${method} ${shapeOf(url)}\n${caller ?? ''}`,
  ))
    add(members, ({ url }) =>
      new Set(members.map((index) => calls[index]?.url)).size === 1 ? url : shapeOf(url),
    );
  for (const members of collect(calls, ({ method, url }) => `${method} ${url}`))
    add(members, ({ url }) => url);
  return groups;
}

/** The first header of an answer with this lower-case name; null where there is none. */
export function headerOf({ responseHeaders }: CallEntry, name: string): string | null {
  return responseHeaders.find((header) => header.name.toLowerCase() === name)?.value ?? null;
}

/** Where an answer leads, as a whole address; null for one that is no redirect. */
function targetOf(call: CallEntry): string | null {
  const location = headerOf(call, 'location');
  if (location === null || call.status === null || call.status < 300 || call.status > 399) return null;
  return URL.canParse(location, call.url) ? new URL(location, call.url).href : null;
}

/** Index of the call whose redirect each followed, by its own. */
export function redirectsOf(calls: readonly CallEntry[]): Map<number, number> {
  const from = new Map<number, number>();
  const open = new Map<string, number>();
  calls.forEach((call, index) => {
    const source = open.get(call.url);
    if (source !== undefined) from.set(index, source);
    const target = targetOf(call);
    if (target !== null) open.set(target, index);
  });
  return from;
}
