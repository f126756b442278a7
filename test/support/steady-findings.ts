/** What is found on a busy machine as well: it blocks the event loop of any request, and makes any call slow. */
import type { Finding } from '../../app/index.ts';

/** Rules whose findings depend on how long something took, which on a busy machine may be anything. */
const OF_TIME: ReadonlySet<string> = new Set([
  'slow-statement', 'slow-call', 'slow-view', 'event-loop-blocked', 'sequential-awaits', 'unrecorded-wait',
  'garbage-collection', 'pool-wait', 'lock-wait', 'connection-per-request', 'read-late',
]); // prettier-ignore

export function steadyIn({ findings }: { findings: readonly Finding[] }): readonly Finding[] {
  return findings.filter(({ rule }) => !OF_TIME.has(rule ?? ''));
}
