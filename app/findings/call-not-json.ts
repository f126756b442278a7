/** The response of a call was parsed as JSON, and was none. */
import type { ExceptionData } from '../panels/exception/data.ts';
import type { FindingRule } from '../profiler/finding-rule.ts';
import { callName, outcomeOf, typeOf } from './shared/calls.ts';
import { endOf, type Kept } from './shared/kept.ts';

/** Between the end of the call and the error, in milliseconds or as a share of the request: parsing takes no time. */
const SOON_MS = 25;
const SOON_SHARE = 0.1;

type Error = ExceptionData['errors'][number];

function isSyntaxError({ thrown, origin }: Error): boolean {
  const root = thrown.chain.at(-1);
  return origin !== 'logged' && root?.class === 'SyntaxError' && root.message.includes('JSON');
}

export const callNotJson: FindingRule<{ exception: ExceptionData } & Pick<Kept, 'http_client'>> = {
  name: 'call-not-json',
  needs: ['http_client', 'exception'],
  labels: ['call not JSON'],
  why: 'A SyntaxError of `JSON.parse` came within 25 ms, or 10 % of the request, after the end of this call, the last one before it.',
  fix: 'Check status and Content-Type before `response.json()`, and name the service in the error that you throw.',
  find({ http_client: { calls }, exception: { errors } }, { durationMs }) {
    const soonMs = Math.max(SOON_MS, (durationMs ?? 0) * SOON_SHARE);
    return errors.flatMap((error) => {
      if (!isSyntaxError(error)) return [];
      const index = calls.findLastIndex(
        (call) => endOf(call) <= error.atMs && error.atMs - endOf(call) < soonMs,
      );
      const call = calls[index];
      if (call === undefined) return [];
      const type = typeOf(call);
      const sentence = `The response of ${callName(call)}, ${outcomeOf(call)}${type === '' ? '' : ` (${type})`}, is probably what could not be parsed as JSON`;
      return [{ broke: 'response', severity: 'bad', sentence, anchor: `c${index + 1}`, place: call.caller }];
    });
  },
};
