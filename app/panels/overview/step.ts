/** A step of a request, as a row with its time and its line. */
import type { Field, Row } from '../../profiler/read/rows.ts';
import type { Json } from '../../profiler/json.ts';
import type { ComparedValue } from '../shared/compare-values.ts';
import type { Interval } from '../shared/rows.ts';
import type { NumberAsText } from '../shared/number-as-text.ts';
import type { CodeToken } from '../../view-helpers/code.ts';
import { textOf, valueLine } from '../../view-helpers/value-line.ts';

export interface Step extends Row {
  href?: string | null;
  /** Of work that somebody waits for: when it was asked for and answered, once for each run. */
  runs?: readonly Run[];
  isWrite?: boolean;
  /** `Product.update`: the call of an ORM that sent it. */
  by?: string | null;
  /** Its result without its time: `1 row`, `not stored`. */
  outcome?: string | null;
  took?: Interval;
}

/** In the rail; its label links to the request of the token. */
export interface BesideRow extends Row {
  token?: string;
}

export interface Run {
  askedMs: number;
  endMs: number;
}

export function tokensOf({ line, text }: Row): readonly CodeToken[] {
  return line?.() ?? [['', typeof text === 'string' ? text : '']];
}

export function lineOf(tokens: readonly CodeToken[]): Pick<Row, 'text' | 'line'> {
  return { text: textOf(tokens), line: () => tokens };
}

export function valueText(value: Json): string {
  return textOf(valueLine(value, { longest: 63 }));
}

/** The same letters in another case, or the same number in another form. */
function isOfForm(before: Json, { value: after, change }: ComparedValue['sent'][number]): boolean {
  const texts = [before, after].map(String);
  if (change === 'case') return texts[0]?.toLowerCase() === texts[1]?.toLowerCase();
  const hasNumber = typeof before === 'number' || typeof after === 'number';
  return change === 'type' && hasNumber && texts.every((text) => /\d/.test(text));
}

/** Without changes of form, which say nothing of where a value came from. */
export function withoutForm(compared: ComparedValue): ComparedValue {
  const plain = (list: ComparedValue['sent']): ComparedValue['sent'] =>
    list.map((at) => (isOfForm(compared.received.value, at) ? { ...at, change: null } : at));
  const [bound, sent] = [plain(compared.bound), plain(compared.sent)];
  const isChanged = [...bound, ...sent].some(({ change }) => change !== null);
  return { ...compared, bound, sent, change: isChanged ? compared.change : null };
}

function typeOf(value: Json): string {
  return value === null ? '' : typeof value === 'boolean' ? 'true or false' : `a ${typeof value}`;
}

/** `quantity received as "1,200", a string`, for each value that changed on its way here, or that was read with another type. */
export function receivedAs(values: readonly ComparedValue[], asText: readonly NumberAsText[] = []): Field[] {
  const changed = values.map(({ name, received, change }) =>
    received.isMasked
      ? `${name}: another value, masked`
      : [
          `${name}: ${valueText(received.value)}`,
          received.isText || change === 'case' ? '' : typeOf(received.value),
        ]
          .filter((text) => text !== '')
          .join(', '),
  );
  const numbers = asText.map(({ name, value }) => `${name}: ${valueText(value)}, ${typeOf(value)}`);
  const texts = [...new Set([...changed, ...numbers])];
  return texts.length === 0 ? [] : [{ label: 'Received as', value: texts.join('; ') }];
}
