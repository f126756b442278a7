/** Groups of commands: a loop that reads one key at a time, and a key that is read twice. */
import { round } from '../../profiler/read/span.ts';
import type { Facts } from '../../profiler/record/facts.ts';
import { totalMs } from '../shared/rows.ts';
import type { CacheGroup, CacheGroupKind } from './data.ts';
import { addTo } from '../../profiler/group-by.ts';
import type { Json } from '../../profiler/json.ts';

const LOOP_FROM = 3;
const VALUE = /\d+|[0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{16,}/gi;

type Command = Facts['cache'];

function isRead({ command }: Command): boolean {
  return /^(?:M?GET|H(?:M?GET|GETALL|KEYS|VALS)|H?EXISTS|[SZ]MEMBERS|SISMEMBER|ZRANGE|ZSCORE|LRANGE|LINDEX|P?TTL|(?:STR|H|L)LEN|[SZ]CARD|JSON\.GET)$/.test(
    command,
  );
}

function commonKey(keys: readonly string[]): string {
  const [first = ''] = keys;
  let length = first.length;
  for (const key of keys) while (!key.startsWith(first.slice(0, length))) length--;
  return `${first.slice(0, length).replace(/[^:/.|_-]*$/, '')}…`;
}

function collect(
  commands: readonly Command[],
  takes: (command: Command) => boolean,
  keyOf: (command: Command) => string,
): number[][] {
  const byKey = new Map<string, number[]>();
  commands.forEach((command, index) => {
    if (takes(command)) addTo(byKey, keyOf(command), index);
  });
  return [...byKey.values()];
}

function repeatedReads(commands: readonly Command[]): number[][] {
  const open = new Map<string, number[]>();
  /** The open reads of each key, also of several at once. */
  const reads = new Map<Json, string[]>();
  const all: number[][] = [];
  commands.forEach((command, index) => {
    // A cache in the process costs nothing to read again.
    if (command.key === null || command.error !== null || command.system === 'memory') return;
    if (!isRead(command)) {
      for (const asked of reads.get(command.key) ?? []) open.delete(asked);
      reads.delete(command.key);
      return;
    }
    const values = [command.key, ...command.args.map(({ value }) => value)];
    const asked = JSON.stringify([command.command, ...values]);
    const members = open.get(asked);
    if (members !== undefined) members.push(index);
    else {
      const started = [index];
      open.set(asked, started);
      for (const value of new Set(values.flat())) addTo(reads, value, asked);
      all.push(started);
    }
  });
  return all.filter(({ length }) => length > 1);
}

export function groupCommands(commands: readonly Command[]): CacheGroup[] {
  const groups: CacheGroup[] = [];
  const taken = new Set<number>();
  const add = (kind: CacheGroupKind, members: number[]): void => {
    const of = members.flatMap((index) => commands[index] ?? []);
    const [first] = of;
    if (first === undefined) return;
    const keys = [...new Set(of.map(({ key }) => key ?? ''))];
    groups.push({
      kind,
      command: first.command,
      key: keys.length === 1 ? (keys[0] ?? '') : commonKey(keys),
      caller: first.caller,
      members,
      durationMs: round(totalMs(of)),
    });
    for (const index of members) taken.add(index);
  };
  const isAlone = (command: Command): boolean =>
    isRead(command) && command.batch === null && command.system === 'redis';
  const loops = collect(
    commands,
    isAlone,
    ({ command, key, caller }) => `${command}\n${caller ?? (key ?? '').replace(VALUE, '…')}`,
  );
  for (const members of loops) {
    const different = new Set(members.map((index) => commands[index]?.key)).size;
    if (members.length >= LOOP_FROM && different > 1) add('n+1', members);
  }
  for (const members of repeatedReads(commands)) {
    const free = members.filter((index) => !taken.has(index));
    if (free.length > 1) add('repeated', free);
  }
  return groups;
}
