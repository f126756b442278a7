/**
 * Context -> profile. Opens contexts, takes snapshots of running ones, makes the final profile when the answer is over
 * and hands it to the writer.
 *
 * A panel that throws costs only itself: its error becomes its data. Nothing here throws outward: a failure of the
 * profiler is a warning and a counter, never the host's problem.
 */
import type { Context, ProfileKind } from './context.ts';
import { Context as RequestContext, type ContextLimits, type ContextOptions } from './context.ts';
import { type Finding, sortFindings } from './finding.ts';
import type { ErrorFact } from './facts.ts';
import type { Panel, PanelRecord } from './panel.ts';
import { cutText } from './plain.ts';
import { indexOf, PROFILE_VERSION, type Profile } from './profile.ts';
import type { Redactor } from './redact.ts';
import { createSampler, defaultSampling, type KeptOutline, type Sampler } from './sampling.ts';
import type { StoredProfile } from './storage.ts';

/** Milliseconds the final profile waits for facts that are on their way beside the request. */
const EXPECTED_FACTS_WAIT = 300;
/** Milliseconds of quiet after late facts before the profile is written again. */
const LATE_QUIET = 200;
/** Milliseconds after its end in which a request may still add facts. */
const LATE_WINDOW = 10_000;
/** Milliseconds after its headers when a request that still runs is written as running. */
const RUNNING_AFTER = 500;

export interface RecorderOptions {
  panels: readonly Panel[];
  redactor: Redactor;
  nextToken: () => string;
  /** Token of a request that is sampled out; default: like any other. */
  nextSampledOut?: () => string;
  /** Default: every request is recorded in full. */
  sampler?: Sampler;
  /** Takes a profile for storing; never throws. */
  write: (profile: StoredProfile) => void;
  /** Which process records: shown and filtered by. */
  process: string;
  limits?: ContextLimits;
  warn: (sentence: string) => void;
}

export interface Recorder {
  open(kind: ProfileKind, parent?: Context): Context;
  /** Opens one that is sampled out. */
  openOutline(): Context;
  /** A running context by its token. */
  running(token: string): Context | undefined;
  runningContexts(): Iterable<Context>;
  /** The profile as it is now, masked. Never throws. */
  snapshot(context: Context): Profile;
  /** The headers are out: from here on a request that goes on for long is stored as running. */
  headersSent(context: Context): void;
  /** The answer is over. */
  finish(context: Context): void;
  /** Makes every open profile final, at once. */
  close(): void;
}

/** One line about what was thrown, whatever it is; never throws itself. */
export function describeError(error: unknown): { name: string; message: string } {
  try {
    if (error instanceof Error) {
      return { name: cutText(String(error.name), 200), message: cutText(String(error.message), 8192) };
    }
    return { name: error === null ? 'null' : typeof error, message: cutText(String(error), 8192) };
  } catch {
    return { name: 'Error', message: 'something was thrown that can not be read' };
  }
}

function collectPanel(panel: Panel, context: Context): PanelRecord {
  try {
    const data = panel.collect(context);
    const summary = data === null ? null : (panel.summary?.(data) ?? null);
    return { data, summary, error: null };
  } catch (error) {
    const { name, message } = describeError(error);
    return { data: null, summary: null, error: `${name}: ${message}` };
  }
}

function findingsOf(panels: readonly Panel[], profile: Profile): Finding[] {
  const findings: Finding[] = [];
  for (const panel of panels) {
    const data = profile.panels[panel.name]?.data;
    if (data === null || data === undefined || panel.findings === undefined) continue;
    try {
      findings.push(...panel.findings(data, profile));
    } catch {
      // A finding that fails is none; its panel still shows the facts.
    }
  }
  return sortFindings(findings);
}

/** The error a list shows: the first that reached an error page, else the first of any kind. */
function errorOf(facts: readonly ErrorFact[]): Profile['error'] {
  const fact = facts.find(({ origin }) => origin === 'handled') ?? facts[0];
  return fact === undefined ? null : describeError(fact.error);
}

export function createRecorder(options: RecorderOptions): Recorder {
  const { panels, redactor, nextToken, nextSampledOut = nextToken, write, warn } = options;
  const sampler = options.sampler ?? createSampler(defaultSampling);
  const contexts = new Map<string, Context>();
  const timers = new Map<Context, NodeJS.Timeout>();

  /** Why a request that was sampled out is stored all the same; null for one that was not, or is not worth it. */
  function whyKept(context: Context): KeptOutline {
    if (!context.outline) return null;
    const status = context.first('response')?.status ?? 0;
    const durationMs = context.durationMs ?? context.elapsedMs();
    return sampler.keeps({ status, durationMs, thrown: context.first('error') !== undefined });
  }

  function build(context: Context, state: Profile['state']): Profile {
    const request = context.first('request');
    const response = context.first('response');
    const records: Record<string, PanelRecord> = {};
    for (const panel of panels) records[panel.name] = collectPanel(panel, context);
    const raw: Profile = {
      version: PROFILE_VERSION,
      token: context.token,
      kind: context.kind,
      state,
      parent: context.parent,
      child: context.child,
      method: request?.method ?? '',
      url: request?.url ?? '',
      origin: request?.origin.origin ?? null,
      status: response === undefined || response.headersAtMs === null ? null : response.status,
      statusMessage: response?.statusMessage ?? '',
      route: context.last('route')?.pattern ?? null,
      clientAddress: request?.origin.clientAddress ?? '',
      requestId: request?.requestId ?? '',
      startedAt: context.startedAt,
      durationMs: context.durationMs,
      outcome: response?.outcome ?? 'running',
      outline: whyKept(context),
      process: options.process,
      error: errorOf(context.all('error')),
      panels: records,
      findings: [],
      cut: Object.fromEntries(context.cut),
      masked: [],
    };
    raw.findings = findingsOf(panels, raw);
    // Tokens are public here, though a field of that name is a secret anywhere else.
    const { token, parent, child, ...rest } = raw;
    const { value, masked } = redactor.tree(rest);
    return { token, parent, child, ...value, masked };
  }

  /** What is left of a profile when building it failed: the line of the request, nothing that could fail again. */
  function bare(context: Context, state: Profile['state'], error: unknown): Profile {
    const { name, message } = describeError(error);
    warn(`A profile could not be built: ${name}: ${message}`);
    const empty = {
      url: '',
      method: '',
      origin: null,
      statusMessage: '',
      route: null,
      clientAddress: '',
      requestId: '',
    };
    return {
      version: PROFILE_VERSION,
      ...empty,
      token: context.token,
      kind: context.kind,
      state,
      parent: context.parent,
      child: context.child,
      status: context.first('response')?.status ?? null,
      startedAt: context.startedAt,
      durationMs: context.durationMs,
      outcome: context.first('response')?.outcome ?? 'running',
      outline: whyKept(context),
      process: options.process,
      error: { name: 'ProfilerError', message: 'The profile of this request could not be built.' },
      panels: {},
      findings: [],
      cut: {},
      masked: [],
    };
  }

  function take(context: Context, state: Profile['state']): Profile {
    try {
      return build(context, state);
    } catch (error) {
      return bare(context, state, error);
    }
  }

  function store(context: Context, state: Profile['state']): void {
    if (context.outline && whyKept(context) === null) return;
    const profile = take(context, state);
    const document = JSON.stringify(profile);
    write({ index: indexOf(profile, Buffer.byteLength(document)), document });
  }

  function clearTimer(context: Context): void {
    clearTimeout(timers.get(context));
    timers.delete(context);
  }

  function later(context: Context, delay: number, work: () => void): void {
    clearTimer(context);
    timers.set(
      context,
      setTimeout(() => {
        timers.delete(context);
        work();
      }, delay).unref(),
    );
  }

  function settle(context: Context): void {
    if (contexts.get(context.token) !== context) return;
    clearTimer(context);
    store(context, 'final');
    contexts.delete(context.token);
    context.onLateFact = () => {
      const since = context.elapsedMs() - (context.durationMs ?? 0);
      if (since < LATE_WINDOW && !timers.has(context))
        later(context, LATE_QUIET, () => {
          store(context, 'final');
        });
    };
  }

  function create(given: ContextOptions): Context {
    const context = new RequestContext({
      ...given,
      ...(options.limits === undefined ? {} : { limits: options.limits }),
    });
    contexts.set(context.token, context);
    return context;
  }

  return {
    open(kind, parent) {
      const context = create({ token: nextToken(), kind, parent: parent?.token ?? null });
      if (parent !== undefined) parent.child = context.token;
      return context;
    },
    openOutline: () => create({ token: nextSampledOut(), kind: 'request', outline: true }),
    running: (token) => contexts.get(token),
    runningContexts: () => contexts.values(),
    snapshot: (context) => take(context, context.ended ? 'final' : 'running'),
    headersSent(context) {
      if (!context.ended)
        later(context, RUNNING_AFTER, () => {
          store(context, 'running');
        });
    },
    finish(context) {
      context.end();
      const expected = context.expected();
      if (expected === null) {
        // After the socket's own work, so that building a profile never delays the last bytes of an answer.
        setImmediate(settle, context);
        return;
      }
      later(context, EXPECTED_FACTS_WAIT, () => {
        settle(context);
      });
      void expected.then(() => {
        settle(context);
      });
    },
    close() {
      for (const context of [...timers.keys()]) {
        if (context.ended && contexts.get(context.token) !== context) store(context, 'final');
        clearTimer(context);
      }
      for (const context of [...contexts.values()]) {
        store(context, context.ended ? 'final' : 'running');
        contexts.delete(context.token);
      }
    },
  };
}
