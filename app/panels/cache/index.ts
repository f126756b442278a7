/** The panel of Redis and of caches in the process: which commands ran, how long each took, and which reads were misses. */
import type { Facts } from '../../profiler/record/facts.ts';
import { type Detail, type Field, isInLibrary, type Row, type Section } from '../../profiler/read/rows.ts';
import { listPanel } from '../shared/list-panel.ts';
import { count, durationText } from '../../view-helpers/numbers.ts';
import { textOf, valueLine } from '../../view-helpers/value-line.ts';
import { shareFigure, timeFigure } from '../shared/timeline-data.ts';
import { keptNote, unkeptOf, unkeptSpans } from '../shared/unkept.ts';
import type { CacheData, CacheTotals } from './data.ts';
import { groupCommands } from './groups.ts';

type Command = Facts['cache'];

/** Of a list. */
const ELEMENTS = /^B?[LR]/;
const LONGEST_VALUE = 500;
const GROUP_LABELS = { 'n+1': 'N+1', repeated: 'repeated' } as const;

/** `found, 1,204 characters`, `not found, 5 in a row`, `deleted 0`, `kept for 60.0 s`. */
function outcomeOf({ command, asked, hits, error, durationMs, ...fact }: Command): string | null {
  if (error !== null) return null;
  if (durationMs === null) return 'no reply';
  const { reply, size, length, lifetimeMs, past, changed, removedExpiry } = fact;
  const said: string[] = [];
  if (hits !== null && asked > 0)
    said.push(asked === 1 ? (hits === 1 ? 'found' : 'not found') : `${hits} of ${asked} found`);
  if (past !== undefined && past.misses > 1) said.push(`${past.misses} in a row`);
  if (reply !== undefined) said.push(replyText(command, reply));
  // Redis tells only that it did not store a value.
  else if (command === 'SET' && fact.args.some(({ value }) => CONDITIONAL.test(String(value))))
    said.push('stored');
  if (size !== undefined && hits === null)
    said.push(count(size, ELEMENTS.test(command) ? 'element' : 'member'));
  if (length !== undefined && hits !== 0 && said[0] !== 'not stored') said.push(count(length, 'character'));
  if (lifetimeMs === null) said.push('never expires');
  else if (lifetimeMs !== undefined) said.push(`expires after ${durationText(lifetimeMs)}`);
  if (removedExpiry !== undefined) said.push(expiryText(removedExpiry));
  if (changed !== undefined) said.push(changeText(changed));
  return said.length === 0 ? null : said.join(', ');
}

/** `SET key value NX`: if there is none, or `XX`: if there is one. */
const CONDITIONAL = /^[NX]X$/i;

function replyText(command: string, reply: number): string {
  switch (command) {
    case 'DEL':
    case 'UNLINK':
    case 'HDEL':
      return `deleted ${reply}`;
    case 'SET':
    case 'SETNX':
      return reply === 0 ? 'not stored' : 'stored';
    case 'TTL':
    case 'PTTL':
      if (reply < 0) return reply === -1 ? 'never expires' : 'no such key';
      return `${durationText(command === 'TTL' ? reply * 1000 : reply)} left`;
    default:
      return `replied ${count(reply)}`;
  }
}

/** `removed an expiry of 3.00 s, 2.40 s before it ran out`, `should have expired 1.60 s before` */
function expiryText({ lifetimeMs, leftMs }: NonNullable<Command['removedExpiry']>): string {
  return leftMs < 0
    ? `should have expired ${durationText(-leftMs)} before`
    : `removed an expiry of ${durationText(lifetimeMs)}, ${durationText(leftMs)} before it ran out`;
}

function changeText({ path, oldValue, newValue, since }: NonNullable<Command['changed']>): string {
  const [before, now] = [oldValue, newValue].map((value) =>
    value === undefined ? 'nothing' : textOf(valueLine(value, { longest: 60 })),
  );
  const from = since.isRead
    ? `request ${since.by ?? ''} read it ${durationText(since.ms)} before`
    : 'it was stored';
  return `changed in the cache since ${from}: ${path === '' ? 'value' : path} was ${before}, is ${now}`;
}

/** `request a1b2c3, 3.0 s before (src/products.js:41)` */
function storedField({ stored }: Command): Field[] {
  if (stored === undefined) return [];
  const { by, place, ms } = stored;
  const who = by === null ? 'outside of a recorded request' : `request ${by}`;
  const at = place === null || isInLibrary(place) ? '' : ` (${place})`;
  const value = `${who}, ${durationText(ms)} before${at}`;
  return [{ label: 'Stored by', value, ...(by !== null && { token: by }) }];
}

/** A value may be long: it opens below the row. */
function detailOf(entry: Command): Pick<Row, 'detail'> {
  const { found, stored } = entry;
  const parts: Detail[] = [];
  if (found !== undefined) parts.push({ title: 'Value', value: found.value });
  if (stored !== undefined) {
    const { by } = stored;
    parts.push({
      title: 'Stored by',
      fields: storedField(entry),
      ...(by === null ? {} : { link: { label: 'Open this request', token: by } }),
    });
  }
  return parts.length === 0 ? {} : { detail: () => parts };
}

function groupSection({ groups }: CacheData): Section {
  return {
    id: 'groups',
    title: 'Repeated reads',
    inPage: false,
    note: 'each is a round trip to Redis',
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
  title: 'Cache',
  fact: 'cache',
  noun: 'cache commands',
  menu: { key: 'k', optional: true, rank: 35 },
  searched: ['key'],
  nothing: {
    what: 'This request sent no command to Redis and called no cache in the process.',
    why: 'Recorded: ioredis 4 and later, redis (node-redis) 4 and later; lru-cache 5 and later, node-cache 5, if your own code calls them.',
    todo: "If the library is in a bundle, or an ES module imported lru-cache before the profiler, pass it in: profiler.observe('lru-cache', { LRUCache }).",
  },
  letter: 'k',
  section: {
    id: 'commands',
    title: 'Commands',
    note: 'in the order they ran',
    columns: { label: 'Command', text: 'Key', badges: 'Marks', note: 'Result', place: 'Called from' },
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
        asked: answered.reduce((sum, { asked }) => sum + asked, 0),
        hits: answered.reduce((sum, { hits }) => sum + (hits ?? 0), 0),
        failed: commands.filter(({ error }) => error !== null).length + (unkept?.failed ?? 0),
      },
    };
  },
  figures({ items, unkept, totals }, { profile }) {
    const memory = items.filter(({ system }) => system === 'memory').length;
    return [
      {
        label: 'Cache commands',
        value: totals.commands,
        note: keptNote(items.length, unkept),
        compare: 'cost',
      },
      ...(memory === 0 ? [] : [{ label: 'In the process', value: memory }]),
      ...(memory > 0 && memory === items.length
        ? []
        : [timeFigure(profile, 'cache', 'Time in Redis'), shareFigure(profile, 'cache')]),
      { label: 'Keys not found', value: totals.asked - totals.hits },
      { label: 'Failed', value: totals.failed, tone: totals.failed > 0 ? 'bad' : 'plain' },
    ];
  },
  kind: 'cache',
  span: ({ system, command, key }) =>
    system === 'memory' ? null : key === null ? command : `${command} ${key}`,
  moreSpans: ({ unkept }) =>
    (unkept?.durationMs ?? 0) > 0
      ? unkeptSpans(unkept, { kind: 'cache', noun: 'cache commands', panel: 'cache' })
      : [],
  row(entry, index, { groups }) {
    const { command, key, args, asked, hits, durationMs, batch, error, connection, found } = entry;
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
        {
          label: 'Value',
          value: found === undefined ? null : textOf(valueLine(found.value, { longest: LONGEST_VALUE })),
        },
        { label: 'Waited for the connection', value: entry.waitMs, unit: 'ms' },
        ...storedField(entry),
        { label: entry.system === 'memory' ? 'Cache' : 'Server', value: connection },
      ],
      ...detailOf(entry),
      ...(group === undefined ? {} : { within: `r${at + 1}` }),
    };
  },
  sections: (data) => ({ above: [groupSection(data)] }),
  // A miss is nothing to warn of.
  summary: ({ totals, groups }) => ({
    tone: totals.failed > 0 || groups.some(({ kind }) => kind === 'n+1') ? 'warn' : 'plain',
  }),
});
