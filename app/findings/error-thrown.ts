/** An error that became a 5xx, or came after the response. Errors with a cause are reported by `root-cause`. */
import type { ExceptionData, ThrownRecord } from '../panels/exception/data.ts';
import type { KeptRequest } from '../panels/request/data.ts';
import type { FindingDraft, FindingRule } from '../profiler/finding-rule.ts';
import { isAnsweredTwice, lineOf, wasSeen } from './shared/errors.ts';
import { duration, excerpt } from './shared/wording.ts';

type Error = Pick<ThrownRecord, 'thrown' | 'place'>;

/** Its last cause is known: root-cause tells of it. */
function hasRoot({ chain, chainEnd }: Error['thrown']): boolean {
  return chain.length > 1 && chainEnd === 'root';
}

/** `TypeError: Cannot read …` of the last cause. */
function nameOf({ thrown }: Error): string {
  const link = thrown.chain.at(hasRoot(thrown) ? -1 : 0);
  if (link === undefined) return 'An error';
  // Parsers of forms name the field beside the message.
  const { field } = link.properties;
  const named = typeof field === 'string' && field !== '' ? ` (field “${excerpt(field, 60)}”)` : '';
  return `${link.class}: ${excerpt(link.message)}${named}`;
}

/** `Thrown: TypeError: …`, or who passed on something else. */
function sentenceOf({ thrown, from, place }: ThrownRecord): string {
  const [top] = thrown.chain;
  if (from === undefined || top === undefined || top.isError) return `Thrown: ${nameOf({ thrown, place })}`;
  return `${from.name} threw or passed to next() a value that is not an Error (${top.class}): ${excerpt(top.message)}`;
}

/**
 * A framework responded with the error, and then passed it to `next()`: the response is an error that says the message. Such an error is
 * not late.
 */
function isInResponse({ thrown }: Error, text: string | null | undefined): boolean {
  const message = thrown.chain[0]?.message ?? '';
  return message !== '' && (text?.includes(JSON.stringify(message).slice(1, -1)) ?? false);
}

export const errorThrown: FindingRule<{ exception: ExceptionData; request?: KeptRequest }> = {
  name: 'error-thrown',
  needs: ['exception'],
  labels: ['exception', 'late error'],
  why: 'An error that was thrown, rejected or passed to `next()` became a 5xx, came after the response, or got none; the place is the topmost frame in your own code, else the middleware that it came from.',
  fix: 'Start with the named line and its inputs: reject invalid input with a 4xx, and check optional values before using them. In Express 4, pass the rejections of async handlers to `next`. `.then(next)` passes the result on as an error: call `next()` without a value.',
  find({ exception: { errors }, request }, { status, durationMs, outcome }) {
    const isHidden = status !== null && status < 400;
    const isError = status !== null && status >= 400;
    return errors.flatMap((record, index): FindingDraft[] => {
      const { origin, late, atMs } = record;
      // Reported by unhandled-rejection, logged-error, failure-sent and answered-twice.
      if (origin === 'uncaughtException' || origin === 'unhandledRejection' || !wasSeen(record)) return [];
      if (isAnsweredTwice(record)) return [];
      const common = { anchor: `error-${index + 1}`, place: lineOf(record) ?? record.from?.place };
      const isSent = isError && isInResponse(record, request?.response?.text);
      if ((late || origin === 'late') && !isSent) {
        const when =
          durationMs === null || atMs <= durationMs
            ? 'after the headers were sent'
            : `${duration(atMs - durationMs)} after the response`;
        const sentence = `Thrown ${when}: ${nameOf(record)}`;
        return [{ ...common, label: 'late error', broke: 'unseen', severity: 'warn', sentence }];
      }
      const answered = isSent ? status : record.status;
      const isLost = status === null && outcome === 'aborted';
      const isFault = isLost || (answered !== null && answered >= 500);
      if (isHidden || !isFault || (hasRoot(record.thrown) && !isSent)) return [];
      return [
        {
          ...common,
          label: 'exception',
          broke: 'response',
          severity: 'bad',
          sentence: `${sentenceOf(record)}${isLost ? ', and no response was sent' : ''}`,
        },
      ];
    });
  },
};
