/** Layers as two profiles are compared by them: those that ran, in their order. */
import { addUpWork, type Comparable } from '../../profiler/comparable.ts';
import type { RoutingData } from './index.ts';

const LENGTH = 300;

export function comparableRouting({ trace }: RoutingData): Comparable {
  return {
    work: addUpWork(
      trace
        .filter(({ tone, kind }) => tone !== 'off' && tone !== 'near' && kind !== 'route')
        .map(({ label, handler, ms }) => {
          const text = (handler === null ? label : `${label} ${handler}`).slice(0, LENGTH);
          return { section: 'Layers', key: text, label: text, times: 1, ms };
        }),
    ),
  };
}
