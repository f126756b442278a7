/** What the page of the logs needs beyond the rows: filters, and similar lines grouped. */
import type { PanelPage } from '../../profiler/panel.ts';
import { addressOf, findOf, firstRows } from '../../render/rows-page.ts';
import { LEVELS, type Level, LEVEL_TITLES, type LogEntry, type LogsData } from './data.ts';
import { CONTEXT_LENGTH, groupLines, type IndexedLine, MESSAGE_LENGTH } from './groups.ts';

/** Channels in the filter. */
const MOST_CHANNELS = 40;

/** The checkboxes, if the form was submitted; else `level=warn` alone, or all. */
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

export function drawLogs({ lines, counts }: LogsData, { query }: PanelPage) {
  const levels = levelsOf(query);
  const find = findOf(query);
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
  const groups = groupLines(chosen, single ? null : new Set(open === null ? [] : [open]));

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
    levels: LEVELS.map((name) => ({
      name,
      title: LEVEL_TITLES[name],
      count: counts[name],
      on: levels.has(name),
    })),
    channel,
    channels,
    filtered: chosen.length < lines.length,
    lines: chosen.length,
    rows: firstRows(groups, query).map((group) => ({
      ...group,
      openHref: group.count > 1 ? `${link({ open: group.id })}#${group.id}` : null,
    })),
    total: groups.length,
    clear: addressOf('logs', { rows: single ? 'single' : null }),
    singleHref: link({ rows: single ? null : 'single', open: null }),
    groupHref: link({ open: null }),
    allHref: link({ all: 1 }),
    messageLength: MESSAGE_LENGTH,
    contextLength: CONTEXT_LENGTH,
  };
}
