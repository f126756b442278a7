/** The panel of GraphQL: operations with their variables and errors, and how long the resolvers of each field took. */
import type { FactReader } from '../../profiler/recorded-facts.ts';
import type { Facts } from '../../profiler/facts.ts';
import type { Panel } from '../../profiler/panel.ts';
import type { Presentation, Row } from '../../profiler/rows.ts';
import { shorten, workSpans } from '../../profiler/span.ts';
import { round, totalMs, withRoundedTimes } from '../shared/rows.ts';

type Operation = Facts['graphql'];

export interface GraphqlData {
  operations: Operation[];
}

function dataOf(record: FactReader): GraphqlData | null {
  const facts = record.all('graphql');
  if (facts.length === 0) return null;
  return {
    operations: facts.map((fact) => ({
      ...withRoundedTimes(fact),
      resolvers: fact.resolvers.map((times) => ({
        ...times,
        startMs: round(times.startMs),
        totalMs: round(times.totalMs),
        slowestMs: round(times.slowestMs),
      })),
    })),
  };
}

function nameOf({ type, operation }: Operation): string {
  return `${type ?? 'operation'} ${operation ?? '(no name)'}`;
}

function operationRow(operation: Operation, index: number): Row {
  const { startMs, durationMs, errors, variables, document } = operation;
  const hasFailed = errors.length > 0;
  return {
    id: `o${index + 1}`,
    label: operation.type ?? 'operation',
    text: operation.operation ?? '(no name)',
    number: durationMs,
    tone: hasFailed ? 'bad' : durationMs === null ? 'warn' : 'plain',
    badges: hasFailed ? ['failed'] : [],
    key: nameOf(operation),
    fields: [
      { label: 'Start', value: startMs, unit: 'at' },
      { label: 'Variables', value: variables },
      { label: 'Errors', value: errors.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`)).join('\n') || null }, // prettier-ignore
    ],
    block: { text: document },
  };
}

function resolverRows({ resolvers }: Operation, operation: number): Row[] {
  return resolvers.map(({ field, calls, totalMs, slowestMs, failed }, index) => ({
    id: `o${operation + 1}-f${index + 1}`,
    label: field,
    times: calls,
    number: totalMs,
    tone: failed > 0 ? 'bad' : 'plain',
    badges: failed > 0 ? ['failed'] : [],
    key: field,
    fields: [
      { label: 'Slowest', value: slowestMs, unit: 'ms' },
      { label: 'Failed', value: failed === 0 ? null : failed },
    ],
  }));
}

function present({ operations }: GraphqlData): Presentation {
  const errors = operations.reduce((sum, operation) => sum + operation.errors.length, 0);
  const calls = operations.flatMap(({ resolvers }) => resolvers).reduce((sum, times) => sum + times.calls, 0);
  return {
    figures: [
      { label: 'GraphQL operations', value: operations.length, compare: 'neutral' },
      { label: 'Time in GraphQL', value: totalMs(operations), unit: 'ms', compare: 'cost' },
      { label: 'Resolver calls', value: calls, compare: 'cost' },
      { label: 'GraphQL errors', value: errors, tone: errors > 0 ? 'bad' : 'plain' },
    ],
    sections: [
      {
        id: 'operations',
        title: 'Operations',
        columns: { label: 'Type', text: 'Name', badges: 'Failure' },
        card: 'in order',
        rows: operations.map(operationRow),
      },
      {
        id: 'resolvers',
        title: 'Resolvers',
        note: 'by field, until they settled; those that run side by side are added up',
        columns: { label: 'Field', badges: 'Failure' },
        card: 'largest',
        rows: operations.flatMap(resolverRows).sort((a, b) => (b.number ?? 0) - (a.number ?? 0)),
      },
    ],
  };
}

export const graphqlPanel: Panel<GraphqlData> = {
  name: 'graphql',
  title: 'GraphQL',
  key: 'g',
  optional: true,
  toolbar: { rank: 15 },
  searched: ['operation', 'document'],
  facts: { graphql: 'GraphQL operations' },
  reads: ['graphql'],
  data: dataOf,
  spans: ({ operations }, { endMs }) =>
    workSpans(operations, { endMs, panel: 'graphql', letter: 'o', labelOf: nameOf }),
  summary: ({ operations }) => ({
    text: operations.length === 1 ? shorten(operations[0]?.operation ?? '1', 30) : String(operations.length),
    tone: operations.some(({ errors }) => errors.length > 0) ? 'bad' : 'plain',
    count: operations.length,
  }),
  empty: () => ({
    what: 'This request executed no GraphQL operation.',
    why: 'Recorded: graphql 16 and later, and with it Apollo Server, graphql-http, NestJS and others.',
    todo: 'An ES module that imported graphql 16 before the profiler was created is not seen: start with --import express-hindsight/register.',
  }),
  present,
};
