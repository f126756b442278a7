/**
 * Masks secrets by their shape, whatever their name. Each shape is searched for only in texts that contain its first characters,
 * because a regular expression over a whole page costs fifty times as much.
 */
import { maskNumbers } from './redact-numbers.ts';
import { MASK } from './redact-rules.ts';
import { maskTokens, TOKEN_HEADS } from './redact-tokens.ts';

interface Shape {
  /** Strings that the shape can begin with. */
  heads: readonly string[];
  mask: (text: string) => string;
}

/** Parts after the header: a signed token has two (RFC 7515), an encrypted one four (RFC 7516). */
function partsAfter(header: string): number {
  return Buffer.from(header, 'base64url').toString('latin1').includes('"enc"') ? 4 : 2;
}

/** `run`: characters that a JSON Web Token may contain. Masks the whole token, the last part perhaps truncated. */
function maskWebTokens(run: string): string {
  if (!run.includes('eyJ')) return run;
  const parts = run.split('.');
  for (let index = 0; index + 1 < parts.length; index++) {
    const part = parts[index] ?? '';
    const at = part.lastIndexOf('eyJ');
    if (at === -1 || part.length - at < 8) continue;
    const after = partsAfter(part.slice(at));
    if (after === 2 && parts[index + 1]?.startsWith('eyJ') !== true) continue;
    parts.splice(index, 1 + after, part.slice(0, at) + MASK);
  }
  return parts.join('.');
}

const SHAPES: readonly Shape[] = [
  { heads: ['eyJ'], mask: (text) => text.replace(/[\w.-]{20,}/g, maskWebTokens) },
  {
    heads: ['-----BEGIN '],
    mask: (text) =>
      text.replace(
        /-----BEGIN (?:[A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?|PGP MESSAGE)-----[\s\S]*?(?:-----END [A-Z ]{0,60}-----|$)/g,
        MASK,
      ),
  },
  {
    heads: ['Bearer', 'Basic', 'Digest', 'Token'],
    mask: (text) =>
      text.replace(
        /\b(Bearer|Basic|Digest|Token)((?:\s|%20|\+){1,20})[A-Za-z0-9._~+/=-]{8,}/g,
        `$1$2${MASK}`,
      ),
  },
];

/** A text without any of these can contain only a password in an address. */
export const SHAPE_HEADS = [...SHAPES.flatMap(({ heads }) => heads), ...TOKEN_HEADS];

/** `scheme://user:password@host`. */
function maskAddresses(text: string): string {
  if (!text.includes('@') || !text.includes('://')) return text;
  return text.replace(/([a-z][a-z0-9+.-]{1,20}:\/\/[^\s/:@'"<>]*):[^\s/@'"<>]+@/gi, `$1:${MASK}@`);
}

/** The same, percent-encoded in another address, perhaps more than once: `next=https%3A%2F%2Fuser%3Apassword%40host`. */
function maskEncodedAddresses(text: string): string {
  if (!/%(?:25){0,3}40/.test(text)) return text;
  return text.replace(
    /([a-z][a-z0-9+.-]{1,20}(?::|%(?:25){0,3}3a)(?:\/|%(?:25){0,3}2f){2}(?:(?!%(?:25){0,3}(?:2f|3a|40))[^\s/:@'"<>&])*(?::|%(?:25){0,3}3a))(?:(?!%(?:25){0,3}(?:2f|40))[^\s/@'"<>&])+(%(?:25){0,3}40)/gi,
    `$1${MASK}$2`,
  );
}

/** `head`: the text may contain one of SHAPE_HEADS; `digits`: a long number. */
export function maskShapes(text: string, holds: { head: boolean; digits: boolean }): string {
  const addresses = maskEncodedAddresses(maskAddresses(text));
  const result = holds.digits ? maskNumbers(addresses) : addresses;
  if (!holds.head) return result;
  return SHAPES.reduce(
    (masked, { heads, mask }) => (heads.some((head) => masked.includes(head)) ? mask(masked) : masked),
    maskTokens(result),
  );
}
