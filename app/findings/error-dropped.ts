/** An error handler called `next()` without the error and without having responded, so that nothing responded to the error. */
import type { ExceptionData } from '../panels/exception/data.ts';
import type { FindingDraft, FindingRule } from '../profiler/finding-rule.ts';
import { lineOf } from './shared/errors.ts';
import { brokeBy, excerpt } from './shared/wording.ts';

export const errorDropped: FindingRule<{ exception: ExceptionData }> = {
  name: 'error-dropped',
  needs: ['exception'],
  labels: ['error dropped'],
  why: 'The error handler had not responded when the next middleware started, and Express had no error any more: the handler called `next()` without one.',
  fix: 'Pass the error on (`next(error)`), or respond to it: `res.status(500).json(…)`.',
  find({ exception: { errors } }, { status }) {
    return errors.flatMap((record, index): FindingDraft[] => {
      const { handler, dropped, thrown } = record;
      const [error] = thrown.chain;
      if (dropped !== true || handler === undefined || error === undefined) return [];
      const isSuccess = status !== null && status < 400;
      // A refusal, such as a missing login, after which the request may go on.
      if (isSuccess && error.status !== null && error.status < 500) return [];
      const name = handler.name.startsWith('<anonymous>') ? 'An error handler' : handler.name;
      const end = status === null ? '' : `: the request ended with ${status}`;
      const sentence = `${name} called next() without ${error.class}: ${excerpt(error.message)}${end}`;
      const severity = isSuccess ? 'warn' : 'bad';
      const place = handler.place ?? lineOf(record);
      return [{ broke: brokeBy(status), severity, sentence, anchor: `error-${index + 1}`, place }];
    });
  },
};
