/** An error that nothing handled, although a function is there that was meant to: it has the wrong number of parameters. */
import type { ExceptionData } from '../panels/exception/data.ts';
import type { FindingRule } from '../profiler/finding-rule.ts';
import { count } from './shared/wording.ts';

export const errorHandlerArguments: FindingRule<{ exception: ExceptionData }> = {
  name: 'error-handler-arguments',
  needs: ['exception'],
  labels: ['error handler'],
  why: 'No error handler took the error, and a registered function begins with the parameters of one (`error, req`) but has fewer than four: Express calls it as middleware.',
  fix: 'Declare all four parameters, even if `next` is not used: `(error, req, res, next)`. Defaults and rest parameters don’t count.',
  find({ exception: { errors } }) {
    const index = errors.findIndex(({ misdeclared }) => misdeclared !== undefined);
    const { misdeclared, handler } = errors[index] ?? {};
    if (misdeclared === undefined || handler !== undefined) return [];
    const { name, place, parameters } = misdeclared;
    const sentence = `${name} was not called with the error: it has ${count(parameters, 'parameter')}, and Express takes only functions with 4 parameters as error handlers`;
    return [{ broke: 'response', severity: 'bad', sentence, anchor: `error-${index + 1}`, place }];
  },
};
