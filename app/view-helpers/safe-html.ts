/**
 * HTML that may pass a template unescaped, and the one escape of all templates.
 *
 * Only the helpers make SafeHtml; recorded values are plain JSON and can never be one (a private field, not a flag).
 */

/** A piece of HTML whose foreign parts are escaped already. */
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
 * The characters beyond Latin-1 that our own texts use. A single one makes V8 store the whole page with two bytes per character, so building
 * and encoding it takes several times as long. As character references they look the same.
 */
const WIDE = '–—‘’“”•…‹›←↑→↓−√';

/**
 * What is not sent as it is: markup; control characters (tab and line ends excepted), which HTML drops or forbids; those that
 * embed, override or isolate a writing direction: an unpaired one ends the isolation of `<bdi>` and turns our own text; and
 * halves of surrogate pairs, which UTF-8 can't hold (whole pairs pass); and what is WIDE.
 */
const SPECIAL = new RegExp(
  `[&<>"'\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\\x7f\\u202a-\\u202e\\u2066-\\u2069\\ud800-\\udfff${WIDE}]`,
);
const SHOWN_AS: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
  '\x7f': '\u2421',
};
const CONTROL_PICTURES = 0x2400;
const DELETE = 0x7f;

/** For characters up to DELETE, by their code; undefined: unchanged. */
const REPLACEMENTS = Array.from({ length: DELETE + 1 }, (_, code): string | undefined => {
  const character = String.fromCharCode(code);
  if (!SPECIAL.test(character)) return undefined;
  return SHOWN_AS[character] ?? String.fromCharCode(CONTROL_PICTURES + code);
});

const REFERENCES = new Map(Array.from(WIDE, (wide) => [wide.charCodeAt(0), `&#${wide.charCodeAt(0)};`]));
const EACH_WIDE = new RegExp(`[${WIDE}]`, 'g');

/** HTML of our own without characters that would make a page wide. */
export function narrow(html: string): string {
  return html.replace(EACH_WIDE, (wide) => REFERENCES.get(wide.charCodeAt(0)) ?? wide);
}

/** For a character beyond DELETE. */
function replaceBeyond(code: number, text: string, at: number): string | undefined {
  if ((code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069))
    return `‹U+${code.toString(16).toUpperCase()}›`;
  if (code < 0xd800 || code > 0xdfff) return REFERENCES.get(code);
  const isHigh = code < 0xdc00;
  const other = isHigh ? text.charCodeAt(at + 1) : text.charCodeAt(at - 1);
  const isPair = isHigh ? other >= 0xdc00 && other <= 0xdfff : other >= 0xd800 && other <= 0xdbff;
  return isPair ? undefined : '\ufffd';
}

/**
 * Escapes text for element content and quoted attributes; what can't be seen becomes visible (NUL: `␀`). Most texts
 * contain nothing to escape; for the others, one pass over the characters is several times faster than regular expressions.
 */
function escapeText(text: string): string {
  const first = text.search(SPECIAL);
  if (first === -1) return text;
  let result = '';
  let from = 0;
  for (let at = first; at < text.length; at++) {
    const code = text.charCodeAt(at);
    const replacement = code <= DELETE ? REPLACEMENTS[code] : replaceBeyond(code, text, at);
    if (replacement === undefined) continue;
    result += text.slice(from, at) + replacement;
    from = at + 1;
  }
  return result + text.slice(from);
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
