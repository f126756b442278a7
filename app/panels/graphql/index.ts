import type { Facts } from '../../profiler/record/facts.ts';
import type { Row } from '../../profiler/read/rows.ts';
import { shorten } from '../../profiler/read/span.ts';
import { type ListData, listPanel } from '../shared/list-panel.ts';
import { coveredMs } from '../shared/rows.ts';

type Operation = Facts['graphql'];

function resolverRows({ resolvers }: Operation, operation: number): Row[] {
  return resolvers.map(({ field, calls, totalMs: ms, slowestMs, failed }, index) => ({
    id: `o${operation + 1}-f${index + 1}`,
    label: field,
    times: calls,
    number: ms,
    tone: failed > 0 ? 'bad' : 'plain',
    badges: failed > 0 ? ['failed'] : [],
    key: field,
    fields: [
      { label: 'Slowest', value: slowestMs, unit: 'ms' },
      { label: 'Failed', value: failed === 0 ? null : failed },
    ],
  }));
}

function nameOf({ type, label }: Operation): string {
  return `${type ?? 'operation'} ${label ?? '(no name)'}`;
}

function sumOf<Item>(items: readonly Item[], valueOf: (item: Item) => number): number {
  return items.reduce((sum, item) => sum + valueOf(item), 0);
}

export type GraphqlData = ListData<Facts['graphql']>;

export const graphqlPanel = listPanel({
  name: 'graphql',
  title: 'GraphQL',
  fact: 'graphql',
  noun: 'GraphQL operations',
  menu: { key: 'g', optional: true, rank: 15 },
  searched: ['label', 'document'],
  nothing: {
    what: 'This request executed no GraphQL operation.',
    why: 'Recorded: graphql 16 and later, and so Apollo Server, graphql-http, NestJS and others.',
    todo: 'If an ES module imports graphql 16 before the profiler is created, start with --import express-hindsight/register.',
  },
  letter: 'o',
  section: {
    id: 'operations',
    title: 'Operations',
    columns: { label: 'Type', text: 'Name', badges: 'Failure' },
  },
  figures({ items }) {
    const errors = sumOf(items, (operation) => operation.errors.length);
    const calls = sumOf(
      items.flatMap(({ resolvers }) => resolvers),
      (times) => times.calls,
    );
    return [
      { label: 'GraphQL operations', value: items.length, compare: 'neutral' },
      { label: 'Time in GraphQL', value: coveredMs(items), unit: 'ms', compare: 'cost' },
      // Methods of the values, which graphql calls by itself, are not counted.
      ...(calls === 0 ? [] : [{ label: 'Resolver calls', value: calls, compare: 'cost' as const }]),
      { label: 'GraphQL errors', value: errors, tone: errors > 0 ? 'bad' : 'plain' },
    ];
  },
  span: nameOf,
  row(operation) {
    const { type, errors, variables, document } = operation;
    const lines = errors.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`));
    return {
      label: type ?? 'operation',
      text: operation.label ?? '(no name)',
      ...(errors.length > 0 ? { tone: 'bad', badges: ['failed'] } : {}),
      key: nameOf(operation),
      fields: [
        { label: 'Variables', value: variables },
        { label: 'Errors', value: lines.join('\n') || null },
      ],
      block: { text: document },
    };
  },
  sections: ({ items }) => ({
    below: [
      {
        id: 'resolvers',
        title: 'Resolvers',
        note: 'by field, until they settled; parallel calls are added up',
        columns: { label: 'Field', badges: 'Failure' },
        card: 'largest',
        rows: items.flatMap(resolverRows).sort((a, b) => (b.number ?? 0) - (a.number ?? 0)),
      },
    ],
  }),
  summary: ({ items }) => (items.length === 1 ? { text: shorten(items[0]?.label ?? '1', 30) } : {}),
});
