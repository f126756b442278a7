/** An error that nothing handled, although a function is there that was meant to: it has the wrong number of parameters. */
import type { ExceptionData } from '../panels/exception/data.ts';
import type { FindingRule } from '../profiler/finding-rule.ts';
import { count, placed } from './shared/wording.ts';

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
    const finding = {
      label: 'error handler',
      broke: 'response' as const,
      severity: 'bad' as const,
      sentence: `${name} was not called with the error: it has ${count(parameters, 'parameter')}, and Express takes only functions with 4 parameters as error handlers`,
      panel: 'exception',
      anchor: `error-${index + 1}`,
    };
    return [placed(finding, place)];
  },
};
