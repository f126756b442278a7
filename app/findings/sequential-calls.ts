/**
 * Outgoing calls, and reads between them, that ran one after the other although they may be independent. Reads alone are
 * reported by `sequential-awaits`.
 */
import type { FindingRule } from '../profiler/finding-rule.ts';
import { hasFailed } from '../panels/shared/failed-call.ts';
import { callName, isReading } from './shared/calls.ts';
import { type Call, endOf, type Kept, type Query } from './shared/kept.ts';
import { kindOf, sqlOf } from './shared/queries.ts';
import { count, duration } from './shared/wording.ts';

/** With a longer pause between two, in milliseconds and as a share of the longer one, the code awaited something else. */
const GAP_MS = 10;
const GAP_SHARE = 0.25;
/** Reported if running them together would save both. */
const SAVED_MS = 10;
const SAVED_SHARE = 0.1;

interface Work {
  startMs: number;
  durationMs: number;
  /** Index among the calls; null for a read. */
  call: number | null;
  caller: string | null;
  /** Without its values. */
  what: string;
}

type Given = Pick<Kept, 'http_client'> & Partial<Pick<Kept, 'database'>>;

function readsOf(database: Kept['database'] | undefined): Work[] {
  if (database === undefined) return [];
  const isPlain = (query: Query): boolean =>
    query.transaction === null && query.group === null && query.error === null && query.durationMs !== null;
  return database.queries
    .filter((query) => isPlain(query) && kindOf(sqlOf(database, query)) === 'read')
    .map(({ startMs, waitMs, durationMs, caller, statement }) => ({
      startMs: startMs - waitMs,
      durationMs: (durationMs ?? 0) + waitMs,
      call: null,
      caller,
      what: String(statement),
    }));
}

function workOf({ http_client, database }: Given): Work[] {
  const calls = http_client.calls.flatMap((call, index): Work[] =>
    call.durationMs !== null && isReading(call) && !hasFailed(call)
      ? [
          {
            startMs: call.startMs,
            durationMs: call.durationMs,
            call: index,
            caller: call.caller,
            what: call.url,
          },
        ]
      : [],
  );
  return [...calls, ...readsOf(database)].sort((a, b) => a.startMs - b.startMs);
}

/** A part of an address that is a value: it has a digit in it, or is long. */
function valuesIn(url: string): string[] {
  return url
    .replace(/^[a-z]+:\/\/[^/]*/i, '')
    .split(/[/?&=,]/)
    .filter((part) => /\d/.test(part) || part.length > 20);
}

/** It names a value that the request did not bring, so an earlier response may have. */
function mayDepend({ call }: Work, calls: readonly Call[], address: string): boolean {
  const own = call === null ? undefined : calls[call];
  if (own === undefined) return false;
  if (own.requestHeaders.some(({ name }) => name.toLowerCase() === 'authorization'))
    return !calls.every(({ requestHeaders }) =>
      requestHeaders.some(({ name }) => name.toLowerCase() === 'authorization'),
    );
  return valuesIn(own.url).some((value) => !address.includes(value));
}

function chainsIn(kept: Given, url: string): Work[][] {
  const { calls } = kept.http_client;
  const chains: Work[][] = [];
  let chain: Work[] = [];
  for (const work of workOf(kept)) {
    const before = chain.at(-1);
    const gap = before === undefined ? 0 : work.startMs - endOf(before);
    const most = Math.max(GAP_MS, GAP_SHARE * Math.max(before?.durationMs ?? 0, work.durationMs));
    const follows = before !== undefined && gap >= 0 && gap <= most && !mayDepend(work, calls, url);
    if (follows && !chain.some(({ what }) => what === work.what)) chain.push(work);
    else chains.push((chain = [work]));
  }
  return chains.filter((found) => found.length > 1 && found.some(({ call }) => call !== null));
}

/** `2 calls and 1 read`. */
function countsText(chain: readonly Work[]): string {
  const calls = chain.filter(({ call }) => call !== null).length;
  const reads = chain.length - calls;
  return `${count(calls, 'call')}${reads === 0 ? '' : ` and ${count(reads, 'read')}`}`;
}

export const sequentialCalls: FindingRule<Given> = {
  name: 'sequential-calls',
  needs: ['http_client'],
  labels: ['sequential calls'],
  why: 'Calls that read, and reads between them, each started at most 10 ms, or a quarter of the longer one, after the one before had ended. Their addresses contain no value that an earlier one may have returned.',
  fix: 'Start them together and await them together: `const [a, b] = await Promise.all([callA(), callB()])`.',
  find(kept, { durationMs: wholeMs, url }) {
    if (wholeMs === null || kept.http_client.calls.length === 0) return [];
    const { calls } = kept.http_client;
    return chainsIn(kept, url).flatMap((chain) => {
      const times = chain.map(({ durationMs }) => durationMs);
      const sum = times.reduce((total, ms) => total + ms, 0);
      const costMs = sum - Math.max(...times);
      const first = chain.find(({ call }) => call !== null);
      const call = calls[first?.call ?? -1];
      if (call === undefined || costMs < SAVED_MS || costMs < wholeMs * SAVED_SHARE) return [];
      const sentence = `${countsText(chain)}, from ${callName(call)} on, ran one after the other but may be independent: ${duration(sum)} in total, longest ${duration(sum - costMs)}`;
      return [
        { severity: 'info', sentence, anchor: `c${(first?.call ?? 0) + 1}`, costMs, place: call.caller },
      ];
    });
  },
};
