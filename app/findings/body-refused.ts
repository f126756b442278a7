/** A parser refused the request body, with the limit or type that it was refused for. */
import type { ExceptionData } from '../panels/exception/data.ts';
import type { FindingDraft, FindingRule } from '../profiler/finding-rule.ts';
import { numberHelpers } from '../view-helpers/numbers.ts';

/** As body-parser and raw-body name their errors. */
const REFUSALS: Readonly<Record<string, string>> = {
  'entity.too.large': 'it is larger than the limit',
  'entity.parse.failed': 'it could not be parsed',
  'encoding.unsupported': 'its Content-Encoding is not supported',
  'charset.unsupported': 'its charset is not supported',
  'parameters.too.many': 'it has too many parameters',
};

function bytes(value: unknown): string | null {
  return typeof value === 'number' ? numberHelpers.bytesText(value) : null;
}

export const bodyRefused: FindingRule<{ exception: ExceptionData }> = {
  name: 'body-refused',
  needs: ['exception'],
  labels: ['body refused'],
  why: 'A parser passed on an error of one of the types that `body-parser` documents, and the response was a 4xx.',
  fix: 'Raise the `limit` of this parser for the routes that need it, or send what it accepts: valid JSON, fewer rows at a time.',
  find({ exception: { errors } }, { status }) {
    if (status === null || status < 400 || status >= 500) return [];
    // An error handler may pass on an error of its own that has the same `type`: the first one is the parser's.
    return errors
      .flatMap(({ thrown, from, origin }, index): FindingDraft[] => {
        const properties = thrown.chain[0]?.properties ?? {};
        const what = typeof properties.type === 'string' ? REFUSALS[properties.type] : undefined;
        if (what === undefined || origin === 'logged') return [];
        const limit = bytes(properties.limit);
        const length = bytes(properties.length) ?? bytes(properties.expected) ?? bytes(properties.received);
        const size = limit === null ? '' : ` of ${limit}${length === null ? '' : ` (${length} were sent)`}`;
        const sentence = `${from?.name ?? 'A parser'} refused the request body: ${what}${size}`;
        return [
          { broke: 'response', severity: 'warn', sentence, anchor: `error-${index + 1}`, place: from?.place },
        ];
      })
      .slice(0, 1);
  },
};
