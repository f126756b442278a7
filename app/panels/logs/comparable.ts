/** Log lines as two profiles are compared by them: those that differ only in numbers are the same. */
import { addUpWork, type Comparable } from '../../profiler/comparable.ts';
import type { LogsData } from './index.ts';

const LENGTH = 300;
/** Numbers, and what looks like an identifier. */
const VALUE = /\b(?:[0-9a-f]{8,}(?:-[0-9a-f]{4,})*|\d+(?:\.\d+)?)/gi;

export function comparableLogs({ lines }: LogsData): Comparable {
  return {
    figures: [{ label: 'Log lines', value: lines.length, unit: 'count' }],
    work: addUpWork(
      lines.map(({ level, channel, message }) => {
        const text = message.slice(0, LENGTH);
        const key = `${level} ${channel} ${text.replace(VALUE, '#')}`;
        return { section: 'Log lines', key, label: `${level}: ${text}`, times: 1, ms: null };
      }),
    ),
  };
}
