/** The panel of Redis: which commands ran, how long each took, and which reads were misses. */
import { round } from '../../profiler/span.ts';
import type { Facts } from '../../profiler/facts.ts';
import type { Section } from '../../profiler/rows.ts';
import { listPanel } from '../shared/list-panel.ts';
import { coveredMs, totalMs } from '../shared/rows.ts';
import { keptNote, unkeptOf, unkeptSpans } from '../shared/unkept.ts';
import type { CacheData, CacheTotals } from './data.ts';
import { groupCommands } from './groups.ts';

type Command = Facts['cache'];

const GROUP_LABELS = { 'n+1': 'N+1', repeated: 'repeated' } as const;

function outcomeOf({ asked, hits, error, durationMs }: Command): string | null {
  if (error !== null) return null;
  if (durationMs === null) return 'no reply';
  if (hits === null || asked === 0) return null;
  return asked === 1 ? (hits === 1 ? 'hit' : 'miss') : `${hits} of ${asked} found`;
}

function groupSection({ groups }: CacheData): Section {
  return {
    id: 'groups',
    title: 'Repeated reads',
    inPage: false,
    note: 'one round trip to Redis for each',
    columns: { label: 'Command', text: 'Key', badges: 'Kind', place: 'Called from' },
    card: 'largest',
    rows: groups.map(({ kind, command, key, members, durationMs, caller }, index) => ({
      id: `r${index + 1}`,
      label: command,
      text: key,
      times: members.length,
      number: durationMs,
      tone: kind === 'n+1' ? 'bad' : 'warn',
      badges: [GROUP_LABELS[kind]],
      place: caller,
    })),
  };
}

export const cachePanel = listPanel<'cache', CacheTotals>({
  name: 'cache',
  title: 'Redis',
  fact: 'cache',
  noun: 'Redis commands',
  menu: { key: 'k', optional: true, rank: 35 },
  searched: ['key'],
  nothing: {
    what: 'This request sent no command to Redis.',
    why: 'Recorded: ioredis 4 and later, redis (node-redis) 4 and later.',
    todo: "A copy inside a bundle is recorded once it is handed over: profiler.observe('ioredis', Redis).",
  },
  letter: 'k',
  section: {
    id: 'commands',
    title: 'Commands',
    note: 'in the order they were made',
    columns: { label: 'Command', text: 'Key', badges: 'Marks', note: 'Found', place: 'Called from' },
    card: 'largest',
  },
  more(record) {
    const commands = record.all('cache');
    if (commands.length === 0) return null;
    const unkept = unkeptOf(record.beyond('cache'));
    const answered = commands.filter(({ hits }) => hits !== null);
    return {
      groups: groupCommands(commands),
      ...(unkept === null ? {} : { unkept }),
      totals: {
        commands: commands.length + (unkept?.count ?? 0),
        durationMs: round(totalMs(commands) + (unkept?.durationMs ?? 0)),
        busyMs: round(coveredMs([...commands, ...(unkept?.stretches ?? [])])),
        asked: answered.reduce((sum, { asked }) => sum + asked, 0),
        hits: answered.reduce((sum, { hits }) => sum + (hits ?? 0), 0),
        failed: commands.filter(({ error }) => error !== null).length + (unkept?.failed ?? 0),
      },
    };
  },
  figures: ({ items, unkept, totals }, { profile: { durationMs } }) => [
    {
      label: 'Redis commands',
      value: totals.commands,
      note: keptNote(items.length, unkept),
      compare: 'cost',
    },
    { label: 'Time in Redis', value: totals.durationMs, unit: 'ms', compare: 'cost' },
    { label: 'Share of request', value: durationMs ? totals.busyMs / durationMs : null, unit: 'share' },
    { label: 'Hit rate', value: totals.asked === 0 ? null : totals.hits / totals.asked, unit: 'share' },
    { label: 'Misses', value: totals.asked - totals.hits },
    { label: 'Failed', value: totals.failed, tone: totals.failed > 0 ? 'bad' : 'plain' },
  ],
  span: ({ command, key }) => (key === null ? command : `${command} ${key}`),
  moreSpans: ({ unkept }) => unkeptSpans(unkept, { kind: 'work', noun: 'Redis commands', panel: 'cache' }),
  row(entry, index, { groups }) {
    const { command, key, args, asked, hits, durationMs, batch, error, connection } = entry;
    const at = groups.findIndex(({ members }) => members.includes(index));
    const group = groups[at];
    const values = args.map(({ value }) => value).join(' ');
    return {
      label: command,
      text: key ?? (values || null),
      tone:
        error !== null ? 'bad' : durationMs === null || (hits !== null && hits < asked) ? 'warn' : 'plain',
      badges: [
        ...(group === undefined ? [] : [GROUP_LABELS[group.kind]]),
        ...(batch === null ? [] : [batch]),
      ],
      note: outcomeOf(entry),
      key: `${command} ${(key ?? '').replace(/\d+/g, '…')}`,
      fields: [
        { label: 'Arguments', value: key === null ? null : values || null },
        { label: 'Server', value: connection },
      ],
      ...(group === undefined ? {} : { within: `r${at + 1}` }),
    };
  },
  sections: (data) => ({ above: [groupSection(data)] }),
  // A miss is nothing to warn of.
  summary: ({ totals, groups }) => ({
    tone: totals.failed > 0 || groups.some(({ kind }) => kind === 'n+1') ? 'warn' : 'plain',
  }),
});
