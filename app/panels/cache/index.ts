/** The panel of Redis: which commands ran, how long each took, and which reads were misses. */
import type { FactReader } from '../../profiler/recorded-facts.ts';
import type { Panel } from '../../profiler/panel.ts';
import { workSpans } from '../../profiler/span.ts';
import { numberHelpers } from '../../view-helpers/numbers.ts';
import { coveredMs, round, totalMs, withRoundedTimes } from '../shared/rows.ts';
import { unkeptOf, unkeptSpans } from '../shared/unkept.ts';
import type { CacheData } from './data.ts';
import { groupCommands } from './groups.ts';
import { presentCommands } from './present.ts';

function dataOf(record: FactReader): CacheData | null {
  const facts = record.all('cache');
  if (facts.length === 0) return null;
  const entries = facts.map(({ system: _system, ...fact }) => withRoundedTimes(fact));
  const groups = groupCommands(entries);
  const groupAt = new Map(
    groups.flatMap(({ members }, group) => members.map((index) => [index, group] as const)),
  );
  const told = facts.filter(({ hits }) => hits !== null);
  const unkept = unkeptOf(record.beyond('cache'));
  return {
    ...(unkept === null ? {} : { unkept }),
    commands: entries.map((entry, index) => ({ ...entry, group: groupAt.get(index) ?? null })),
    groups,
    totals: {
      commands: facts.length + (unkept?.count ?? 0),
      durationMs: round(totalMs(facts) + (unkept?.durationMs ?? 0)),
      busyMs: round(coveredMs([...facts, ...(unkept?.stretches ?? [])])),
      asked: told.reduce((sum, { asked }) => sum + asked, 0),
      hits: told.reduce((sum, { hits }) => sum + (hits ?? 0), 0),
      failed: facts.filter(({ error }) => error !== null).length + (unkept?.failed ?? 0),
    },
  };
}

export const cachePanel: Panel<CacheData> = {
  name: 'cache',
  title: 'Redis',
  key: 'k',
  optional: true,
  toolbar: { rank: 35 },
  searched: ['key'],
  facts: { cache: 'Redis commands' },
  reads: ['cache'],
  data: dataOf,
  spans: ({ commands, unkept }, { endMs }) => [
    ...workSpans(commands, {
      endMs,
      panel: 'cache',
      letter: 'k',
      labelOf: ({ command, key }) => (key === null ? command : `${command} ${key}`),
    }),
    ...unkeptSpans(unkept, { kind: 'work', noun: 'Redis commands', panel: 'cache' }),
  ],
  summary: ({ totals, groups }) => ({
    text: numberHelpers.count(totals.commands),
    tone: totals.failed > 0 || groups.some(({ kind }) => kind === 'n+1') ? 'warn' : 'plain',
    count: totals.commands,
  }),
  empty: () => ({
    what: 'This request sent no command to Redis.',
    why: 'Recorded: ioredis 4 and later, redis (node-redis) 4 and later.',
    todo: "A copy inside a bundle is recorded once it is handed over: profiler.observe('ioredis', Redis).",
  }),
  present: presentCommands,
};
