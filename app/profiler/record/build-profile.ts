/**
 * Context -> document: each panel collects its data once, everything is masked, empty values are left out. Nothing is concluded here
 * (conclude.ts). A panel that throws fails alone, and `build` never throws: if it fails, only the line of the request remains.
 */
import { round } from '../read/span.ts';
import { type Context, createSlot } from './context.ts';
import { describeError } from './thrown-value.ts';
import type { ErrorFact, BodyFact } from './facts.ts';
import { type Panel, storedFacts } from '../panel.ts';
import { recordFacts } from './recorded-facts.ts';
import type { KeptPanel, ProfileDocument, ProfileHead } from '../profile.ts';
import { rawHeader } from './raw-headers.ts';
import { pathOf } from '../request-target.ts';
import type { MaskedTree, Redactor } from '../masking/redact.ts';
import type { SharedParts } from './shared-parts.ts';
import type { SharedPart } from '../store/storage.ts';
import { traceOf } from './trace-context.ts';
import { type NavigationHints, navigationHintsOf } from './navigation-hints.ts';
import type { SummaryFacts } from '../store/profile-index.ts';
import { summaryFactsOf, summaryPanels } from './summary.ts';
import { STATUS_CODES } from '../../node-http.ts';

interface Call {
  jsonrpc?: unknown;
  method?: unknown;
  params?: { name?: unknown } | null;
}

/** Others would make a route of whatever a client sends. */
const NAME = /^[\w.:/$-]{1,100}$/;
/** Methods of MCP that call something by its name. */
const BY_NAME = new Set(['tools/call', 'prompts/get']);

/** As parsed by the application; else its first bytes, if they are all. */
function callOf({ parsed, preview, truncated, contentType }: BodyFact): Call | null {
  if (typeof parsed === 'object' && parsed !== null) return parsed;
  if (parsed !== undefined || truncated || contentType?.includes('json') !== true) return null;
  return preview.includes('"jsonrpc"') ? (JSON.parse(preview.toString()) as Call | null) : null;
}

/**
 * JSON-RPC 2.0 posts every call to one route (MCP servers do, too), so the method tells them apart: `orders.find`, `tools/call search`. null if the
 * body is no single call. Never throws. https://www.jsonrpc.org/specification
 */
function jsonRpcLabel(body: BodyFact | undefined): string | null {
  try {
    const call = body === undefined ? null : callOf(body);
    if (call?.jsonrpc !== '2.0' || typeof call.method !== 'string' || !NAME.test(call.method)) return null;
    const name = BY_NAME.has(call.method) ? call.params?.name : undefined;
    return typeof name === 'string' && NAME.test(name) ? `${call.method} ${name}` : call.method;
  } catch {
    return null;
  }
}

export interface ProfileBuilderOptions {
  panels: readonly Panel[];
  redactor: Redactor;
  sharedParts: SharedParts;
  usualMs?: (head: Pick<ProfileHead, 'method' | 'route'>) => number | null;
  process: string;
  release?: string | null | undefined;
  warn: (sentence: string) => void;
}

export interface BuiltProfile {
  document: ProfileDocument;
  queries: number;
  navigationHints: NavigationHints | null;
  facts: SummaryFacts | null;
  requestId: string | null;
  shared: SharedPart[];
}

export interface BuildOptions {
  shown?: readonly string[] | undefined;
  isHeadOnly?: boolean;
}

export interface ProfileBuilder {
  /** Never throws. With `shown`, other panels are not displayed, but still collect, because the redactor learns secrets from their data. */
  build(context: Context, state: ProfileDocument['state'], options?: BuildOptions): BuiltProfile;
  mask<T>(context: Context, late: T): T;
}

interface From {
  context: Context;
  head: ProfileHead;
}

interface Taken {
  shared: SharedPart[];
  queries: number;
}

function errorOf(facts: readonly ErrorFact[]): ProfileHead['error'] {
  const fact =
    facts.find(({ origin }) => origin === 'handled') ?? facts.find(({ origin }) => origin !== 'logged');
  return fact === undefined ? null : describeError(fact.error);
}

function countIn(panel: Panel, data: unknown, head: ProfileHead): number {
  const profile = { ...head, panels: {}, findings: [], dropped: {}, masked: [] };
  return panel.menu?.summary?.(data, profile)?.count ?? 0;
}

function isUsualPhrase({ status, statusMessage }: ProfileHead): boolean {
  return status !== null && statusMessage === STATUS_CODES[status];
}

function outcomeOf(context: Context): ProfileHead['outcome'] {
  const response = context.first('response')?.outcome;
  if (context.isCutOff && (response ?? 'running') === 'running') return 'cut off';
  return response ?? (context.ended && context.first('work') !== undefined ? 'finished' : 'running');
}

/** tRPC takes the procedures of a request from the last part of its path. Its responses vary by a header of its own. */
function trpcLabel(context: Context): string | null {
  const { url = '' } = context.first('request') ?? {};
  const vary = rawHeader(context.first('response')?.rawHeaders ?? [], 'vary');
  // A client may ask for procedures that don't exist.
  if (vary === null || !/\btrpc-/i.test(vary) || context.last('route') === undefined) return null;
  return /\/([\w.,-]{1,100})$/.exec(pathOf(url))?.[1] ?? null;
}

/** `/graphql · GetOrders`, `/mcp · tools/call search`, `/trpc · orders.list`. */
function routeOf(context: Context): string | null {
  const pattern = context.last('route')?.pattern;
  const label = jsonRpcLabel(context.first('body')) ?? context.first('routeLabel') ?? trpcLabel(context);
  return pattern === undefined || label === null ? (pattern ?? label) : `${pattern} · ${label}`;
}

/** A random ID of our own tells nothing, and is a new text for each request, which takes long to mask. */
function isOwnId(context: Context): boolean {
  const request = context.first('request');
  return request !== undefined && rawHeader(request.rawHeaders, 'x-request-id') !== request.requestId;
}

export function createProfileBuilder(options: ProfileBuilderOptions): ProfileBuilder {
  const { panels, redactor, sharedParts, process, release = null, warn } = options;
  const { usualMs = () => null } = options;
  const factNames = storedFacts(panels);
  /** Mask late facts with what the last document of their request revealed. */
  const lateMasks = createSlot<MaskedTree<unknown>['maskLate']>('mask of late facts');

  function headOf(context: Context, state: ProfileHead['state']): ProfileHead {
    const request = context.first('request');
    const response = context.first('response');
    const work = context.first('work');
    return {
      token: context.token,
      kind: context.kind,
      state,
      parent: context.parent,
      child: context.child,
      method: request?.method ?? work?.label ?? '',
      url: request?.url ?? work?.name ?? '',
      origin: request?.origin.origin ?? null,
      status: response === undefined || response.headersAtMs === null ? null : response.status,
      statusMessage: response?.statusMessage ?? '',
      route: routeOf(context),
      clientAddress: request?.origin.clientAddress ?? '',
      requestId: request?.requestId ?? '',
      trace: traceOf(context) ?? undefined,
      startedAt: context.startedAt,
      durationMs: context.durationMs === null ? null : round(context.durationMs),
      outcome: outcomeOf(context),
      endedProcess: context.endedProcess ?? undefined,
      summary: context.summary,
      process,
      release,
      error: errorOf(context.all('error')),
    };
  }

  function takePanel(panel: Panel, from: From, into: Taken, whole = true): KeptPanel | null {
    const { context, head } = from;
    try {
      const data = panel.collect?.(context) ?? null;
      const common = whole ? (panel.recorded?.shared?.(context) ?? null) : null;
      if (data === null && common === null) return null;
      if (data !== null && panel.name === 'database') into.queries = countIn(panel, data, head);
      if (common === null) return { data };
      const part = sharedParts.partOf(common);
      into.shared.push(part);
      return data === null ? { shared: part.id } : { data, shared: part.id };
    } catch (error) {
      const { name, message } = describeError(error);
      return { error: `${name}: ${message}` };
    }
  }

  function make(
    context: Context,
    state: ProfileHead['state'],
    { shown, isHeadOnly = false }: BuildOptions,
  ): BuiltProfile {
    const head = headOf(context, state);
    const taken: Taken = { shared: [], queries: 0 };
    const kept: Record<string, KeptPanel> = {};
    for (const panel of panels) {
      if (isHeadOnly || context.summary !== null) continue;
      const isShown = shown?.includes(panel.name);
      if (isShown === false && panel.menu?.group === 'process') continue;
      const record = takePanel(panel, { context, head }, taken, isShown);
      if (record !== null) kept[panel.name] = record;
    }
    const recorded = context.summary === null && !isHeadOnly ? recordFacts(context, factNames) : {};
    const { value, masked, maskLate } = redactor.tree({
      navigationHints: navigationHintsOf(context),
      summaryFacts: context.summary === null ? null : summaryFactsOf(context),
      method: head.method,
      url: head.url,
      origin: head.origin ?? undefined,
      statusMessage: isUsualPhrase(head) ? undefined : head.statusMessage,
      route: head.route ?? undefined,
      clientAddress: head.clientAddress,
      requestId: isOwnId(context) ? undefined : head.requestId,
      trace: head.trace,
      process: head.process,
      error: head.error ?? undefined,
      panels: kept,
      facts: recorded.facts,
      beyond: recorded.beyond,
    });
    lateMasks.set(context, maskLate);
    const { dropped } = context;
    const { navigationHints, summaryFacts } = value;
    return {
      queries: taken.queries,
      navigationHints,
      facts: summaryFacts,
      requestId: value.requestId ?? null,
      shared: taken.shared,
      document: {
        token: head.token,
        kind: head.kind,
        state: head.state,
        parent: head.parent ?? undefined,
        child: head.child ?? undefined,
        status: head.status ?? undefined,
        trace: value.trace,
        startedAt: head.startedAt,
        durationMs: head.durationMs ?? undefined,
        outcome: head.outcome === 'finished' ? undefined : head.outcome,
        endedProcess: head.endedProcess,
        summary: head.summary ?? undefined,
        release: head.release ?? undefined,
        dropped: dropped.size === 0 ? undefined : Object.fromEntries(dropped),
        usualMs: head.summary === null ? (usualMs(head) ?? undefined) : undefined,
        // Stored in columns only; the document has the headers they come from, and what was masked in these.
        masked: masked.filter(({ where }) => !/^(navigationHints|summaryFacts)\./.test(where)),
        // One by one: a spread costs more than masking them.
        method: value.method,
        url: value.url,
        origin: value.origin,
        statusMessage: value.statusMessage,
        route: value.route,
        clientAddress: value.clientAddress,
        requestId: value.requestId ?? head.requestId,
        process: value.process,
        error: value.error,
        panels: summaryFacts === null ? value.panels : summaryPanels(summaryFacts),
        facts: value.facts,
        beyond: value.beyond,
      },
    };
  }

  function mask<T>(context: Context, late: T): T {
    if (lateMasks.get(context) === undefined) make(context, 'final', {});
    return lateMasks.get(context)?.(late) ?? redactor.tree(late).value;
  }

  /** The document if building failed: the line of the request, without anything that could fail again. */
  function bare(context: Context, state: ProfileHead['state']): ProfileDocument {
    const response = context.first('response');
    return {
      token: context.token,
      kind: context.kind,
      state,
      parent: context.parent,
      child: context.child,
      method: '',
      url: '',
      status: response?.status ?? null,
      statusMessage: '',
      clientAddress: '',
      requestId: '',
      startedAt: context.startedAt,
      durationMs: context.durationMs,
      outcome: response?.outcome ?? 'running',
      summary: context.summary,
      process,
      release: release ?? undefined,
      error: { name: 'ProfilerError', message: 'The profile of this request could not be built.' },
      panels: {},
    };
  }

  return {
    build(context, state, options = {}) {
      try {
        return make(context, state, options);
      } catch (error) {
        const { name, message } = describeError(error);
        warn(`A profile could not be built: ${name}: ${message}`);
        return {
          document: bare(context, state),
          queries: 0,
          navigationHints: null,
          facts: null,
          requestId: null,
          shared: [],
        };
      }
    },
    mask,
  };
}
