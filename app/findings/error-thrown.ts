/** An error that became a 5xx, or came after the response. Errors with a cause are reported by `root-cause`. */
import type { ExceptionData, ThrownRecord } from '../panels/exception/data.ts';
import type { FindingDraft, FindingRule } from '../profiler/finding-rule.ts';
import { isAnsweredTwice, lineOf } from './shared/errors.ts';
import { duration, excerpt } from './shared/wording.ts';

type Error = Pick<ThrownRecord, 'thrown' | 'place'>;

/** `TypeError: Cannot read …` of the last cause. */
function nameOf({ thrown }: Error): string {
  const link = thrown.chain.at(-1);
  return link === undefined ? 'An error' : `${link.class}: ${excerpt(link.message)}`;
}

export const errorThrown: FindingRule<{ exception: ExceptionData }> = {
  name: 'error-thrown',
  needs: ['exception'],
  labels: ['exception', 'late error'],
  why: 'An error that was thrown, rejected or passed to `next()` reached the error handler; the place is the topmost frame in your own code.',
  fix: 'Start with the named line and its inputs: reject invalid input with a 4xx, and check optional values before using them.',
  find({ exception: { errors } }, { status, durationMs }) {
    const isHidden = status !== null && status < 400;
    return errors.flatMap((record, index): FindingDraft[] => {
      const { origin, late, atMs } = record;
      // Reported by unhandled-rejection, logged-error and answered-twice.
      if (origin === 'uncaughtException' || origin === 'unhandledRejection' || origin === 'logged') return [];
      if (isAnsweredTwice(record)) return [];
      const common = { anchor: `error-${index + 1}`, place: lineOf(record) };
      if (late || origin === 'late') {
        const when =
          durationMs === null || atMs <= durationMs
            ? 'after the headers were sent'
            : `${duration(atMs - durationMs)} after the response`;
        const sentence = `Thrown ${when}: ${nameOf(record)}`;
        return [{ ...common, label: 'late error', broke: 'unseen', severity: 'warn', sentence }];
      }
      const isFault = record.status !== null && record.status >= 500;
      if (isHidden || !isFault || record.thrown.chain.length > 1) return [];
      return [{ ...common, broke: 'response', severity: 'bad', sentence: `Thrown: ${nameOf(record)}` }];
    });
  },
};
