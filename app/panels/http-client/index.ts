/** The panel of outgoing calls: who was called, how long each part took, and the profile of the called service. */
import { round } from '../../profiler/span.ts';
import { withRoundedTimes } from '../../profiler/recorded-facts.ts';
import type { Context } from '../../profiler/context.ts';
import type { Facts } from '../../profiler/facts.ts';
import type { Panel } from '../../profiler/panel.ts';
import { pairHeaders } from '../../profiler/raw-headers.ts';
import { numberHelpers } from '../../view-helpers/numbers.ts';
import { unkeptOf, unkeptSpans } from '../shared/unkept.ts';
import { addTo } from '../../profiler/group-by.ts';
import { loopPath, type SourceAbove, usualPath } from '../shared/loop-path.ts';
import { bodyOf } from './body.ts';
import type { CallEntry, HttpClientData } from './data.ts';
import { hasFailed } from '../shared/failed-call.ts';
import { presentCalls } from './present.ts';
import { callSpans } from './spans.ts';

function hostOf(url: string): string {
  return /^[a-z]+:\/\/([^/?#]*)/i.exec(url)?.[1] ?? '';
}

function entryOf({ path: _path, sentMs, requestBody, responseBody, ...fact }: Facts['call']): CallEntry {
  const sent = bodyOf(requestBody, fact.requestHeaders, true);
  const received = bodyOf(responseBody, fact.responseHeaders);
  return {
    ...withRoundedTimes(fact),
    connection: withRoundedTimes(fact.connection),
    ...(typeof sentMs === 'number' ? { sentMs: round(sentMs) } : {}),
    requestHeaders: pairHeaders(fact.requestHeaders),
    responseHeaders: pairHeaders(fact.responseHeaders),
    ...(sent === null ? {} : { requestBody: sent }),
    ...(received === null ? {} : { responseBody: received }),
  };
}

/** Lines that were called from a loop in another function. */
function loopsOf(facts: readonly Facts['call'][], sourceAbove: SourceAbove): Record<string, string[]> {
  const byLine = new Map<string, Facts['call'][]>();
  for (const fact of facts) if (fact.caller !== null) addTo(byLine, fact.caller, fact);
  return Object.fromEntries(
    [...byLine].flatMap(([caller, of]) => {
      const above = usualPath(of.map(({ path }) => path));
      const path = above === undefined ? null : loopPath(caller, above, sourceAbove);
      return path === null ? [] : [[caller, path] as const];
    }),
  );
}

function collect(context: Context, sourceAbove: SourceAbove): HttpClientData | null {
  const facts = context.all('call');
  if (facts.length === 0) return null;
  const calls = facts.map(entryOf);
  const loops = loopsOf(facts, sourceAbove);
  const unkept = unkeptOf(context.beyond('call'));
  return {
    calls,
    ...(Object.keys(loops).length === 0 ? {} : { loops }),
    ...(unkept === null ? {} : { unkept }),
    totals: {
      calls: calls.length + (unkept?.count ?? 0),
      hosts: new Set(calls.map(({ url }) => hostOf(url))).size,
      failed: calls.filter(hasFailed).length + (unkept?.failed ?? 0),
    },
  };
}

export interface HttpClientPanelOptions {
  /** Source up to a place in own code; null if it may not or can't be read. */
  sourceAbove?: SourceAbove;
}

export const createHttpClientPanel = ({
  sourceAbove = () => null,
}: HttpClientPanelOptions = {}): Panel<HttpClientData> => ({
  name: 'http_client',
  title: 'Outgoing calls',
  menu: {
    key: 'c',
    rank: 40,
    label: 'outgoing',
    summary: ({ totals }) => ({
      text: numberHelpers.count(totals.calls),
      tone: totals.failed > 0 ? 'warn' : 'plain',
      count: totals.calls,
    }),
  },
  recorded: {
    facts: { call: 'calls' },
    nothing: {
      what: 'This request made no outgoing calls.',
      why: 'Recorded: fetch, undici, node:http and node:https.',
    },
    spans: ({ calls, unkept }, { endMs }) => [
      ...callSpans(calls, endMs),
      ...unkeptSpans(unkept, { kind: 'out', noun: 'calls', panel: 'http_client' }),
    ],
  },
  collect: (context) => collect(context, sourceAbove),
  rows: presentCalls,
  view: { kind: 'out', showsCalled: true },
});
