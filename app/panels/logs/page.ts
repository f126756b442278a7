/** What the page of the logs shows: lines of some levels and channels, with a text, and how many they are. */
import type { PanelPage } from '../../profiler/panel.ts';
import type { LogEntry, LogsData } from './index.ts';
import { addressOf, pageOf } from '../shared/rows.ts';
import { LEVELS, type Level } from './levels.ts';
import { CONTEXT_LENGTH, costOf, type IndexedLine, logRows, MESSAGE_LENGTH } from './rows.ts';

const TITLES: Readonly<Record<Level, string>> = {
  error: 'Errors',
  warn: 'Warnings',
  info: 'Info',
  debug: 'Debug',
};
const LONGEST_FIND = 200;
/** Channels that can be chosen from. */
const MOST_CHANNELS = 40;

/** Boxes count where the form was sent: an address alone shows all, `level=warn` one of them. */
function levelsOf(query: PanelPage['query']): ReadonlySet<Level> {
  const one = LEVELS.find((level) => level === query.level);
  if (one !== undefined) return new Set([one]);
  const checked = LEVELS.filter((level) => query[level] !== undefined);
  return new Set(query.shown === '1' ? checked : LEVELS);
}

function holds({ message, channel, caller, context }: LogEntry, text: string): boolean {
  const inContext = context !== null && JSON.stringify(context).toLowerCase().includes(text);
  return inContext || `${message}\n${channel}\n${caller ?? ''}`.toLowerCase().includes(text);
}

function channelsOf(lines: readonly LogEntry[]): { name: string; count: number }[] {
  const counts = new Map<string, number>();
  for (const { channel } of lines) counts.set(channel, (counts.get(channel) ?? 0) + 1);
  return [...counts]
    .map(([name, count]) => ({ name, count }))
    .sort((a, b) => b.count - a.count)
    .slice(0, MOST_CHANNELS);
}

function countLevels(lines: readonly IndexedLine[]): { level: Level; count: number }[] {
  return LEVELS.map((level) => ({
    level,
    count: lines.filter(({ entry }) => entry.level === level).length,
  })).filter(({ count }) => count > 0);
}

export function presentLogs({ lines, counts }: LogsData, { query }: PanelPage) {
  const levels = levelsOf(query);
  const find = (query.find ?? '').slice(0, LONGEST_FIND);
  const text = find.toLowerCase();
  const channels = channelsOf(lines);
  const channel = channels.find(({ name }) => name === query.channel)?.name ?? null;
  const single = query.rows === 'single';
  const open = /^l\d{1,5}$/.test(query.open ?? '') ? (query.open ?? '') : null;

  const listed = lines.map((entry, index): IndexedLine => ({ entry, index }));
  const chosen = listed.filter(
    ({ entry }) =>
      levels.has(entry.level) &&
      (channel === null || entry.channel === channel) &&
      (text === '' || holds(entry, text)),
  );
  const rows = logRows(chosen, single ? null : new Set(open === null ? [] : [open]));
  const page = pageOf(rows, { query, cost: costOf });

  const all = levels.size === LEVELS.length;
  const kept: Record<string, string | null> = {
    find,
    channel,
    shown: all ? null : '1',
    rows: single ? 'single' : null,
    open,
  };
  for (const level of levels) if (!all) kept[level] = '1';
  const link = (changes: Record<string, string | number | null>): string =>
    addressOf('logs', { ...kept, ...changes });
  return {
    find,
    single,
    open,
    levels: LEVELS.map((name) => ({ name, title: TITLES[name], count: counts[name], on: levels.has(name) })),
    channel,
    channels,
    filtered: chosen.length < lines.length,
    lines: chosen.length,
    shown: countLevels(chosen),
    page: {
      ...page,
      rows: page.rows.map((row) => ({
        ...row,
        openHref: row.count > 1 ? `${link({ open: row.id })}#${row.id}` : null,
      })),
    },
    clear: addressOf('logs', { rows: single ? 'single' : null }),
    singleHref: link({ rows: single ? null : 'single', open: null }),
    groupHref: link({ open: null }),
    firstHref: link({}),
    nextHref: page.next === null ? null : link({ from: page.next }),
    allHref: link({ all: 1 }),
    messageLength: MESSAGE_LENGTH,
    contextLength: CONTEXT_LENGTH,
  };
}
