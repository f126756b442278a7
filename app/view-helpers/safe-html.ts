/**
 * HTML that may pass a template unescaped, and the one escape of all templates.
 *
 * Only the helpers make SafeHtml; recorded values are plain JSON and can never be one (a private field, not a flag).
 */

import { escapeHtml as escapeMarkup } from '../profiler/escape-html.ts';

export class SafeHtml {
  readonly #html: string;

  constructor(html: string) {
    this.#html = html;
  }

  toString(): string {
    return this.#html;
  }

  static is(value: unknown): value is SafeHtml {
    return typeof value === 'object' && value !== null && #html in value;
  }
}

/**
 * What is not sent as it is, besides markup: control characters (tab and line ends excepted), which HTML drops or forbids; tags, which
 * hide text from people; those that embed, override or isolate a writing direction: an unpaired one ends the isolation of `<bdi>` and turns
 * our own text.
 */
const SPECIAL = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u{e0000}-\u{e007f}]/gu;
const CONTROL_PICTURES = 0x2400;

/** One of SPECIAL, so that it can be seen. */
function shown(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x20) return String.fromCharCode(CONTROL_PICTURES + code);
  if (code === 0x7f) return '\u2421';
  return `‹U+${code.toString(16).toUpperCase().padStart(4, '0')}›`;
}

/** What can't be seen becomes visible (NUL: `␀`). UTF-8 can't hold half a surrogate pair. */
export function showHidden(text: string): string {
  return text.toWellFormed().replace(SPECIAL, shown);
}

/** Text for element content and quoted attributes. */
function escapeText(text: string): string {
  return showHidden(escapeMarkup(text));
}

/** What `<%= %>` does: SafeHtml unchanged, nothing for null and undefined, everything else as escaped text (objects: JSON). */
export function escapeHtml(value: unknown): string {
  if (typeof value === 'string') return escapeText(value);
  if (value === undefined || value === null) return '';
  if (typeof value === 'number' || typeof value === 'boolean') return `${value}`;
  return SafeHtml.is(value) ? value.toString() : escapeText(JSON.stringify(value));
}

/** Tagged template: literal parts stay, values are escaped, arrays are joined. */
export function markup(parts: TemplateStringsArray, ...values: readonly unknown[]): SafeHtml {
  let result = parts[0] ?? '';
  for (let index = 0; index < values.length; index++) {
    const value = values[index];
    if (Array.isArray(value)) for (const item of value) result += escapeHtml(item);
    else result += escapeHtml(value);
    result += parts[index + 1] ?? '';
  }
  return new SafeHtml(result);
}
