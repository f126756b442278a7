/**
 * Texts as JSON quotes them. Names, patterns, pages and headers repeat from request to request; what came twice is kept quoted, so
 * that the third time costs a comparison instead of a look at each of its characters.
 */
import { copyText, hashOf } from './redact-memory.ts';

export interface QuotedTexts {
  quote(text: string): string;
  /** Of what is kept. */
  readonly bytes: number;
}

const SLOTS = 4096;
const MOST_BYTES = 1024 * 1024;
/** Longer texts are not kept: an upload is not sent twice. */
const LONGEST_KEPT = 16_500;
/** Up to here a look at the characters costs less than the call of `JSON.stringify`. */
const LONGEST_LOOKED_AT = 100;
/** Nothing that JSON escapes; lone surrogates are among what is. */
const NEEDS_NO_ESCAPE = /^[^"\\\0-\x1f\ud800-\udfff]*$/;
/** The text and its quoted form, two bytes for a character. */
const BYTES_PER_CHARACTER = 4;

function quoteAnew(text: string): string {
  return text.length <= LONGEST_LOOKED_AT && NEEDS_NO_ESCAPE.test(text) ? `"${text}"` : JSON.stringify(text);
}

/** A table with one place for each hash; all of it is given up where the bytes come to their limit. */
export function createQuotedTexts(): QuotedTexts {
  const texts = new Array<string | null>(SLOTS).fill(null);
  const quoted = new Array<string>(SLOTS).fill('');
  /** Hash of the text that came last without being kept. */
  const seen = new Int32Array(SLOTS);
  let bytes = 0;

  function keep(slot: number, text: string, result: string): void {
    if (bytes > MOST_BYTES) {
      texts.fill(null);
      quoted.fill('');
      bytes = 0;
    }
    bytes += (text.length - (texts[slot]?.length ?? 0)) * BYTES_PER_CHARACTER;
    texts[slot] = copyText(text);
    quoted[slot] = copyText(result);
  }

  return {
    quote(text) {
      if (text === '') return '""';
      const hash = hashOf(text);
      const slot = hash & (SLOTS - 1);
      if (texts[slot] === text) return quoted[slot] ?? '';
      const result = quoteAnew(text);
      if (text.length > LONGEST_KEPT) return result;
      if (seen[slot] === hash) keep(slot, text, result);
      else seen[slot] = hash;
      return result;
    },
    get bytes() {
      return bytes;
    },
  };
}
