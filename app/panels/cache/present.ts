import type { PresentFrom } from '../../profiler/panel.ts';
import type { Presentation, Row } from '../../profiler/rows.ts';
import { keptNote } from '../shared/unkept.ts';
import type { CacheData, CacheEntry, CacheGroup } from './data.ts';

const GROUP_LABELS = { 'n+1': 'N+1', repeated: 'repeated' } as const;

function outcomeOf({ asked, hits, error, durationMs }: CacheEntry): string | null {
  if (error !== null) return 'failed';
  if (durationMs === null) return 'no reply';
  if (hits === null || asked === 0) return null;
  return asked === 1 ? (hits === 1 ? 'hit' : 'miss') : `${hits} of ${asked} found`;
}

function rowOf(entry: CacheEntry, index: number, groups: readonly CacheGroup[]): Row {
  const { command, key, args, asked, hits, startMs, durationMs, batch, error, caller, connection } = entry;
  const group = entry.group === null ? undefined : groups[entry.group];
  return {
    id: `k${index + 1}`,
    label: command,
    text: key ?? (args.map(({ value }) => value).join(' ') || null),
    number: durationMs,
    tone: error !== null ? 'bad' : durationMs === null || (hits !== null && hits < asked) ? 'warn' : 'plain',
    badges: [...(group === undefined ? [] : [GROUP_LABELS[group.kind]]), ...(batch === null ? [] : [batch])],
    note: outcomeOf(entry),
    place: caller,
    key: `${command} ${(key ?? '').replace(/\d+/g, '…')}`,
    fields: [
      { label: 'Start', value: startMs, unit: 'at' },
      {
        label: 'Arguments',
        value: key === null || args.length === 0 ? null : args.map(({ value }) => value).join(' '),
      },
      { label: 'Server', value: connection },
      { label: 'Error', value: error },
    ],
    ...(entry.group === null ? {} : { within: `r${entry.group + 1}` }),
  };
}

export function presentCommands(
  { commands, groups, unkept, totals }: CacheData,
  { profile: { durationMs } }: PresentFrom,
): Presentation {
  return {
    figures: [
      {
        label: 'Redis commands',
        value: totals.commands,
        note: keptNote(commands.length, unkept),
        compare: 'cost',
      },
      { label: 'Time in Redis', value: totals.durationMs, unit: 'ms', compare: 'cost' },
      { label: 'Share of request', value: durationMs ? totals.busyMs / durationMs : null, unit: 'share' },
      { label: 'Hit rate', value: totals.asked === 0 ? null : totals.hits / totals.asked, unit: 'share' },
      { label: 'Misses', value: totals.asked - totals.hits },
      { label: 'Failed', value: totals.failed, tone: totals.failed > 0 ? 'bad' : 'plain' },
    ],
    sections: [
      {
        id: 'groups',
        title: 'Repeated reads',
        note: 'one round trip to Redis for each',
        columns: { label: 'Command', text: 'Key', badges: 'Kind', place: 'Called from' },
        card: 'largest',
        rows: groups.map(({ kind, command, key, members, durationMs: ms, caller }, index) => ({
          id: `r${index + 1}`,
          label: command,
          text: key,
          times: members.length,
          number: ms,
          tone: kind === 'n+1' ? 'bad' : 'warn',
          badges: [GROUP_LABELS[kind]],
          place: caller,
        })),
      },
      {
        id: 'commands',
        title: 'Commands',
        note: 'in the order they were made',
        columns: { label: 'Command', text: 'Key', badges: 'Marks', note: 'Found', place: 'Called from' },
        rows: commands.map((entry, index) => rowOf(entry, index, groups)),
        card: 'largest',
      },
    ],
  };
}
