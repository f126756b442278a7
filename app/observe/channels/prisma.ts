/**
 * Prisma -> `express-hindsight:orm:call`, through the interface of its tracing: for each operation, a client looks for a helper on
 * `globalThis`. So model and method are known of every client, also of one that was generated into a folder of the application, however
 * and whenever it was loaded. https://github.com/prisma/prisma/tree/main/packages/instrumentation-contract
 */
import { type OrmCall, ormCalls } from './labels.ts';
import { awaitedQueries } from './lazy-query.ts';

interface Span {
  name?: unknown;
  attributes?: { name?: unknown; model?: unknown };
}

interface Helper {
  isEnabled(): boolean;
  getTraceParent(): string;
  createEngineSpan(): void;
  dispatchEngineSpans(spans: unknown, logs: readonly unknown[], publish: (log: unknown) => void): void;
  getActiveContext(): undefined;
  runInChildSpan(span: Span | string, work: () => unknown): unknown;
}

const GLOBAL = 'PRISMA_INSTRUMENTATION';

function labelOf(span: Span | string): string | null {
  const { name, attributes } = typeof span === 'string' ? { name: span } : span;
  const isCall = name === 'operation' && typeof attributes?.model === 'string';
  return isCall && typeof attributes.name === 'string' ? attributes.name : null;
}

/**
 * An awaited call is made from the microtask queue: only a microtask later, the stack leads to the line that awaits it. As an async
 * function, this would be in the stacks of the application.
 */
function called(label: string, work: () => unknown): unknown {
  const call: OrmCall = { label };
  awaitedQueries.publish(call);
  if (call.called !== undefined) return ormCalls.runStores(call, work);
  return Promise.resolve().then(() => ormCalls.runStores(call, work));
}

const helper: Helper = {
  isEnabled: () => false,
  getTraceParent: () => '00-10-10-00',
  createEngineSpan: () => undefined,
  dispatchEngineSpans(_spans, logs, publish) {
    for (const log of logs) publish(log);
  },
  getActiveContext: () => undefined,
  runInChildSpan(span, work) {
    const label = ormCalls.hasSubscribers ? labelOf(span) : null;
    return label === null ? work() : called(label, work);
  },
};

/** Profilers that listen: the last one to close takes the helper away. */
let users = 0;

/** Returns what undoes it. An application that traces Prisma itself has a helper of its own, which stays. */
export function publishPrisma(): () => void {
  const holder = globalThis as { [GLOBAL]?: { helper?: Helper } };
  // Not enumerable: a test runner may look for globals that leak.
  if (holder[GLOBAL] === undefined)
    Reflect.defineProperty(holder, GLOBAL, { value: { helper }, configurable: true, writable: true });
  users++;
  return () => {
    users--;
    if (users === 0 && holder[GLOBAL]?.helper === helper) Reflect.deleteProperty(holder, GLOBAL);
  };
}
