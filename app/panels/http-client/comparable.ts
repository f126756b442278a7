/** Outgoing calls as two profiles are compared by them: by method and address without its query. */
import { addUpWork, type Comparable } from '../../profiler/comparable.ts';
import type { HttpClientData } from './index.ts';

const LENGTH = 300;

export function comparableCalls({ calls, totals }: HttpClientData): Comparable {
  return {
    figures: [
      { label: 'Outgoing calls', value: calls.length, unit: 'count', cost: true },
      { label: 'Time in outgoing calls', value: totals.durationMs, unit: 'ms', cost: true },
    ],
    work: addUpWork(
      calls.map(({ method, url, durationMs }) => {
        const label = `${method} ${url.replace(/[?#].*$/s, '')}`.slice(0, LENGTH);
        return { section: 'Outgoing calls', key: label, label, times: 1, ms: durationMs };
      }),
    ),
  };
}
