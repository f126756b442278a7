/** Nobody handled what was thrown or rejected: without a listener of the host, the process ends by it. */
import type { ExceptionData } from '../panels/exception/index.ts';
import type { FindingRule } from '../profiler/finding.ts';
import { duration, placed } from './shared/wording.ts';

export const unhandledRejection: FindingRule<{ exception: ExceptionData }> = {
  name: 'unhandled-rejection',
  needs: ['exception'],
  labels: ['unhandled', 'uncaught'],
  known: "Node's uncaughtExceptionMonitor told of it, in the asynchronous context of this request.",
  mends: 'Await or return the promise, or end it with catch(); in callbacks, hand the error to next().',
  find({ exception: { errors } }, { durationMs }) {
    return errors.flatMap(({ origin, atMs, thrown, place }, index) => {
      if (origin !== 'unhandledRejection' && origin !== 'uncaughtException') return [];
      const isRejection = origin === 'unhandledRejection';
      const name = thrown.chain[0]?.class ?? 'An error';
      const when =
        durationMs !== null && atMs > durationMs
          ? `${duration(atMs - durationMs)} after the answer`
          : `${duration(atMs)} after the request came`;
      const line = place?.frame.line ?? null;
      const file = place?.frame.file ?? null;
      return [
        placed(
          {
            label: isRejection ? 'unhandled' : 'uncaught',
            severity: 'bad',
            sentence: isRejection
              ? `Nobody handled a rejection, ${name}, ${when}`
              : `Nobody caught ${name}, ${when}`,
            panel: 'exception',
            anchor: `error-${index + 1}`,
          },
          file === null || line === null ? file : `${file}:${line}`,
        ),
      ];
    });
  },
};
