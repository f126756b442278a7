/** Calls that belong together: retries, repeats, loops; and which call followed whose redirect. */
import type { CallEntry } from './data.ts';
import { namedHeader } from '../../profiler/record/raw-headers.ts';
import { hasFailed } from '../shared/failed-call.ts';
import { addTo } from '../../profiler/group-by.ts';

/** `retry`: the same call after a failure. `repeated`: the same call after a success. `loop`: one line calls URLs of one shape. */
export type CallGroupKind = 'retry' | 'repeated' | 'loop';

export interface CallGroup {
  kind: CallGroupKind;
  members: number[];
  url: string;
}

const LOOP_FROM = 3;
const VALUE = /^(?:\d+|[0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{16,}|(?=[0-9a-f]*\d[0-9a-f]{5})[0-9a-f]+)$/i;

function shapeOf(url: string): string {
  const [, origin = '', path = ''] = /^([a-z]+:\/\/[^/?#]*)?([^?#]*)/i.exec(url) ?? [];
  return origin + path.split('/').map((part) => (VALUE.test(part) ? '…' : part)).join('/'); // prettier-ignore
}

function kindOf(calls: readonly CallEntry[], members: readonly number[]): CallGroupKind | null {
  const entries = members.flatMap((index) => calls[index] ?? []);
  if (new Set(entries.map(({ url }) => url)).size === 1)
    return entries.slice(0, -1).some((call) => hasFailed(call) || call.status === 429) ? 'retry' : 'repeated';
  return members.length >= LOOP_FROM ? 'loop' : null;
}

function collect(calls: readonly CallEntry[], keyOf: (call: CallEntry) => string): number[][] {
  const byKey = new Map<string, number[]>();
  calls.forEach((call, index) => addTo(byKey, keyOf(call), index));
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

function targetOf(call: CallEntry): string | null {
  const location = namedHeader(call.responseHeaders, 'location');
  if (location === null || call.status === null || call.status < 300 || call.status > 399) return null;
  return URL.canParse(location, call.url) ? new URL(location, call.url).href : null;
}

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
