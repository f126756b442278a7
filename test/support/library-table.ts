/** The table of docs/libraries.md, compared with what the tests of a library have recorded. */
import { readFileSync } from 'node:fs';
import type { QueryFact } from '../../app/observe/query-fact.ts';

/** Facts of the tests of the current library. */
const recorded: QueryFact[] = [];

export function rememberFacts(facts: readonly QueryFact[]): void {
  recorded.push(...facts);
}

export function forgetFacts(): void {
  recorded.length = 0;
}

function said(matching: (fact: QueryFact) => boolean): string {
  const count = recorded.filter((fact) => fact.sql !== '' && matching(fact)).length;
  const all = recorded.filter(({ sql }) => sql !== '').length;
  return count === 0 ? 'no' : count === all ? 'yes' : 'partly';
}

function any(matching: (fact: QueryFact) => boolean): string {
  return recorded.some(matching) ? 'yes' : 'no';
}

/** What was recorded of a library: duration, caller, values, rows, transactions, the wait for a connection. */
export function recordedRow(library: string): string[] {
  return [
    library,
    said(({ durationMs }) => durationMs !== null),
    said(({ caller }) => caller?.startsWith('test/') === true),
    any(({ bindings }) => bindings.length > 0),
    any(({ rows }) => rows !== null),
    any(({ transaction }) => transaction !== null),
    any(({ waitMs }) => waitMs > 0),
  ];
}

/** The row of the table that begins with this name. */
export function documentedRow(library: string): string[] {
  const rows = readFileSync('docs/libraries.md', 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .map((line) => line.split('|').map((cell) => cell.trim().replaceAll('`', '')));
  return rows.find(([, name]) => name === library)?.slice(1, 8) ?? [];
}

/** `pg 8`: with the major version that is installed. */
export function withMajor(name: string): string {
  const { version } = JSON.parse(readFileSync(`node_modules/${name}/package.json`, 'utf8')) as {
    version: string;
  };
  return `${name} ${version.split('.')[0] ?? ''}`;
}
