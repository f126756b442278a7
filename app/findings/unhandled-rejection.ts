/** An error that nothing handled. Unless the host listens for it, Node.js ends the process. */
import type { ExceptionData } from '../panels/exception/data.ts';
import type { FindingRule } from '../profiler/finding-rule.ts';
import { lineOf } from './shared/errors.ts';
import type { Kept } from './shared/kept.ts';
import { duration, excerpt } from './shared/wording.ts';

export const unhandledRejection: FindingRule<{ exception: ExceptionData } & Partial<Pick<Kept, 'routing'>>> =
  {
    name: 'unhandled-rejection',
    needs: ['exception'],
    labels: ['unhandled rejection', 'uncaught exception'],
    why: 'Node.js reported the error through `uncaughtExceptionMonitor`, in the async context of this request.',
    fix: 'Await or return the promise, or end it with `catch()`. In callbacks, pass the error to `next()`.',
    find({ exception: { errors }, routing }, { durationMs }) {
      return errors.flatMap(({ origin, atMs, thrown, place }, index) => {
        if (origin !== 'unhandledRejection' && origin !== 'uncaughtException') return [];
        const isRejection = origin === 'unhandledRejection';
        const { class: name = 'An error', message = '' } = thrown.chain[0] ?? {};
        const what = message === '' ? name : `${name}: ${excerpt(message)}`;
        const when =
          durationMs !== null && atMs > durationMs
            ? `${duration(atMs - durationMs)} after the response`
            : `${duration(atMs)} after the request started`;
        return [
          {
            label: isRejection ? 'unhandled rejection' : 'uncaught exception',
            broke: durationMs !== null && atMs > durationMs ? 'unseen' : 'response',
            severity: 'bad',
            sentence: `${isRejection ? 'Unhandled rejection' : 'Uncaught exception'}: ${what}, ${when}`,
            anchor: `error-${index + 1}`,
            // An error of a stream or socket has no frame of the code that opened it.
            place: lineOf({ place }) ?? routing?.route?.source,
          },
        ];
      });
    },
  };
