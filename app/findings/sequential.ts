/** Reads and calls that waited for each other, although none may need the result of another. */
import { hasFailed } from '../panels/shared/failed-call.ts';
import { totalMs } from '../panels/shared/rows.ts';
import type { FindingDraft } from '../profiler/read/finding-rule.ts';
import type { ProfileHead } from '../profiler/profile.ts';
import { namedHeader } from '../profiler/record/raw-headers.ts';
import { callName, isReading } from './shared/calls.ts';
import { type Call, type Database, endOf, type Needs, type Query, type Rule } from './shared/kept.ts';
import { kindOf, labelOf, rowOf } from './shared/queries.ts';
import { certainMs } from './shared/time.ts';
import { count, duration } from './shared/wording.ts';

type Given = Needs<'request', 'database' | 'http_client' | 'routing'>;

interface Work {
  startMs: number;
  durationMs: number;
  caller: string | null;
  /** Equal for work that is not run together with itself. */
  what: string;
  name: string;
  anchor: string;
  /** null: a call. */
  query: Query | null;
  /** null: a read. */
  call: Call | null;
}

/** Whether another read could run beside it. */
function isPlainRead(database: Database, query: Query): boolean {
  return (
    query.transaction === null &&
    query.group === null &&
    query.error === null &&
    query.durationMs !== null &&
    kindOf(database, query) === 'read'
  );
}

/** In the order in which they were asked for; null stands for a statement that no read may run beside. */
function workIn({ database, http_client }: Given): (Work | null)[] {
  const reads = (database?.queries ?? []).map((query, index) => {
    const { startMs, waitMs, durationMs, caller, statement } = query;
    const askedMs = startMs - waitMs;
    if (database === undefined || !isPlainRead(database, query)) return { askedMs, work: null };
    const [name, anchor] = [labelOf(database, query), rowOf(index)];
    const ms = (durationMs ?? 0) + waitMs;
    return {
      askedMs,
      work: {
        startMs: askedMs,
        durationMs: ms,
        caller,
        what: `${statement}`,
        name,
        anchor,
        query,
        call: null,
      },
    };
  });
  const calls = (http_client?.calls ?? []).flatMap((call, index) => {
    const { startMs, durationMs, caller, url } = call;
    if (durationMs === null || !isReading(call) || hasFailed(call)) return [];
    const [name, anchor] = [callName(call), `c${index + 1}`];
    const work = { startMs, durationMs, caller, what: url, name, anchor, query: null, call };
    return [{ askedMs: startMs, work }];
  });
  return [...calls, ...reads].sort((a, b) => a.askedMs - b.askedMs).map(({ work }) => work);
}

/** Every part of the address that may have become a value, as JSON of a string and of a number. */
function addressValues({ url }: ProfileHead, { routing }: Given): Set<string> {
  const params = (routing?.route?.params ?? []).map(({ value }): unknown => value);
  const query = url.includes('?') ? [...new URLSearchParams(url.slice(url.indexOf('?'))).values()] : [];
  const texts = [...params, ...query]
    .filter((value) => typeof value === 'string' || typeof value === 'number')
    .map(String);
  const numbers = texts.filter((text) => /^\d{1,15}$/.test(text)).map((text) => String(Number(text)));
  return new Set([...texts.map((text) => JSON.stringify(text)), ...numbers]);
}

/** Bindings that Knex adds; they depend on no earlier read. */
const CONSTANT = new Set(['limit', 'offset']);

function valuesOf({ bindings }: Query): string[] {
  return bindings.filter(({ name }) => !CONSTANT.has(name)).map(({ value }) => JSON.stringify(value));
}

/** Statements this many lines apart count as part of one function. */
const NEAR_LINES = 25;
/** With a longer pause between two, the code awaited something else. */
const READS_GAP_MS = 5;
/** Of a call also as a share of the longer one. */
const GAP_MS = 10;
const GAP_SHARE = 0.25;

function isNear(before: string | null, after: string | null): boolean {
  const [a, b] = [before, after].map((caller) => /^(.*):(\d+)$/.exec(caller ?? ''));
  const lines = Number(b?.[2]) - Number(a?.[2]);
  return a?.[1] === b?.[1] && lines > 0 && lines <= NEAR_LINES;
}

/** A part of an address that is a value: it has a digit in it, or is long. */
function valuesIn(url: string): string[] {
  return url
    .replace(/^[a-z]+:\/\/[^/]*/i, '')
    .split(/[/?&=,]/)
    .filter((part) => /\d/.test(part) || part.length > 20);
}

/** It names a value that the request did not bring, so an earlier response may have. */
function mayDepend(own: Call, calls: readonly Call[], address: string): boolean {
  const isSigned = ({ requestHeaders }: Call): boolean =>
    namedHeader(requestHeaders, 'authorization') !== null;
  if (isSigned(own)) return !calls.every(isSigned);
  return valuesIn(own.url).some((value) => !address.includes(value));
}

/** Runs of work that was asked for as soon as the one before had ended, and needs nothing of it. */
function chainsIn(kept: Given, head: ProfileHead): Work[][] {
  const chains: Work[][] = [];
  const address = addressValues(head, kept);
  let chain: Work[] = [];
  /** All values of a read after a read were known before: they are of the address, or of the first read. */
  function isKnown(query: Query): boolean {
    const first = chain.find((work) => work.query !== null)?.query;
    const known = new Set(first === null || first === undefined ? [] : valuesOf(first));
    return valuesOf(query).every((value) => address.has(value) || known.has(value));
  }
  function follows(work: Work): boolean {
    const before = chain.at(-1);
    if (before === undefined || chain.some(({ what }) => what === work.what)) return false;
    const { query, call } = work;
    const gap = work.startMs - endOf(before);
    const longest = Math.max(before.durationMs, work.durationMs);
    const areReads = query !== null && before.query !== null;
    if (gap < 0 || gap > (areReads ? READS_GAP_MS : Math.max(GAP_MS, longest * GAP_SHARE))) return false;
    if (call !== null) return !mayDepend(call, kept.http_client?.calls ?? [], head.url);
    return query === null || !areReads || (isNear(before.caller, work.caller) && isKnown(query));
  }
  for (const work of workIn(kept)) {
    if (work === null) chain = [];
    else if (follows(work)) chain.push(work);
    else chains.push((chain = [work]));
  }
  return chains.filter(({ length }) => length > 1);
}

/** `2 calls and 1 read, from GET rates.example/v2 on`, `3 reads, from select … from a to select … from b` */
function namesOf(chain: readonly Work[], first: Work): string {
  const calls = chain.filter(({ call }) => call !== null).length;
  const reads = chain.length - calls;
  const readsText = reads === 0 ? '' : count(reads, 'read');
  if (calls === 0) return `${readsText}, from ${first.name} to ${chain.at(-1)?.name ?? ''},`;
  return `${[count(calls, 'call'), readsText].filter((text) => text !== '').join(' and ')}, from ${first.name} on,`;
}

/** Reported if running them together would save both. */
const SAVED_MS = 10;
const SAVED_SHARE = 0.1;

/** A line that makes calls side by side and yet one after the other has a limit, or a pool without a free connection. */
function isLimited(chain: readonly Work[], calls: readonly Call[]): boolean {
  const [first, last] = [chain[0], chain.at(-1)];
  return calls.some(
    (call) =>
      chain.every((work) => work.call !== call) &&
      chain.some((work) => work.call !== null && work.caller === call.caller) &&
      call.startMs < (last?.startMs ?? 0) &&
      endOf(call) > (first === undefined ? Infinity : endOf(first)),
  );
}

const sequentialAwaits: Rule<Given> = {
  name: 'sequential-awaits',
  needs: ['request'],
  labels: ['sequential awaits', 'sequential calls'],
  why: 'Reads and calls that read each started when the one before had ended. The values of the reads were known before the first, and the addresses of the calls contain none that an earlier one may have returned.',
  fix: 'Start them together and await them together: `const [a, b] = await Promise.all([readA(), readB()])`.',
  find(kept, head, from) {
    const wholeMs = head.durationMs ?? Infinity;
    return chainsIn(kept, head).flatMap((chain): FindingDraft[] => {
      const first = chain.find(({ call }) => call !== null) ?? chain[0];
      if (first === undefined || isLimited(chain, kept.http_client?.calls ?? [])) return [];
      // The first statements on a new connection take longer, once.
      if (first.call === null && chain.some(({ query }) => query?.opened === true || query?.first === true))
        return [];
      const sum = totalMs(chain);
      const costMs = sum - Math.max(...chain.map(({ durationMs }) => durationMs));
      if (certainMs(costMs, from.time) < SAVED_MS || costMs < wholeMs * SAVED_SHARE) return [];
      const sentence = `${namesOf(chain, first)} ran one after the other but may be independent: ${duration(sum)} in total, longest ${duration(sum - costMs)}`;
      const [label, panel] =
        first.call === null ? ['sequential awaits', 'database'] : ['sequential calls', 'http_client'];
      const { anchor, caller: place } = first;
      return [{ label, severity: 'info', sentence, panel, anchor, costMs, place }];
    });
  },
};

export const sequentialRules: readonly Rule[] = [sequentialAwaits];
