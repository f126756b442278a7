/** Something was thrown and became a 5xx, or came when the answer was out. What names a cause is told of as `root-cause`. */
import type { ExceptionData, ThrownRecord } from '../panels/exception/index.ts';
import type { Finding, FindingRule } from '../profiler/finding.ts';
import { duration, excerpt, placed } from './shared/wording.ts';

type Error = Pick<ThrownRecord, 'thrown' | 'place'>;

/** `TypeError: Cannot read …` of the link that began it. */
function beginning({ thrown }: Error): string {
  const link = thrown.chain.at(-1);
  return link === undefined ? 'An error' : `${link.class}: ${excerpt(link.message)}`;
}

function lineOf({ place }: Error): string | null {
  const { file = null, line = null } = place?.frame ?? {};
  return file === null || line === null ? file : `${file}:${line}`;
}

export const errorThrown: FindingRule<{ exception: ExceptionData }> = {
  name: 'error-thrown',
  needs: ['exception'],
  labels: ['exception', 'late'],
  known:
    'What was thrown, rejected or handed to `next` reached the error handler; its place is the nearest frame in own code.',
  mends:
    'Look at the line and what it was given; refuse what can’t be handled with a 4xx, and check what may be missing before it is used.',
  find({ exception: { errors } }, { status, durationMs }) {
    const isHidden = status !== null && status < 400;
    return errors.flatMap((record, index): Finding[] => {
      const { origin, late, atMs } = record;
      // Rules of their own tell of these: unhandled-rejection, error-answered-2xx, root-cause.
      if (origin === 'uncaughtException' || origin === 'unhandledRejection') return [];
      const common = { panel: 'exception', anchor: `error-${index + 1}` };
      if (late || origin === 'late') {
        const when =
          durationMs === null || atMs <= durationMs
            ? 'when the answer was out'
            : `${duration(atMs - durationMs)} after the answer`;
        const sentence = `Thrown ${when}: ${beginning(record)}`;
        return [placed({ ...common, label: 'late', severity: 'warn', sentence }, lineOf(record))];
      }
      const isFault = record.status !== null && record.status >= 500;
      if (isHidden || !isFault || record.thrown.chain.length > 1) return [];
      const sentence = `Thrown: ${beginning(record)}`;
      return [placed({ ...common, label: 'exception', severity: 'bad', sentence }, lineOf(record))];
    });
  },
};
