/**
 * Masks secrets by their shape, whatever their name. Each shape is searched for only in texts that contain its first characters,
 * because a regular expression over a whole page costs fifty times as much.
 */
import { MASK } from './redact-rules.ts';

interface Shape {
  /** Strings that the shape can begin with. */
  heads: readonly string[];
  mask: (text: string) => string;
}

/** `run`: characters that a JSON Web Token may contain. Masks `header.payload.signature`, the last part perhaps truncated. */
function maskWebTokens(run: string): string {
  if (!run.includes('eyJ')) return run;
  const parts = run.split('.');
  for (let index = 0; index + 1 < parts.length; index++) {
    const part = parts[index] ?? '';
    const at = part.lastIndexOf('eyJ');
    if (at === -1 || part.length - at < 8 || parts[index + 1]?.startsWith('eyJ') !== true) continue;
    parts.splice(index, 3, part.slice(0, at) + MASK);
  }
  return parts.join('.');
}

const PREFIXES = [
  'AKIA', 'ASIA', 'ghp_', 'gho_', 'ghu_', 'ghs_', 'ghr_', 'github_pat_', 'glpat-', 'npm_', 'AIza', 'sk_live_', 'sk_test_',
  'rk_live_', 'rk_test_', 'xoxa-', 'xoxb-', 'xoxp-', 'xoxr-', 'xoxs-',
]; // prettier-ignore

const SHAPES: readonly Shape[] = [
  { heads: ['eyJ'], mask: (text) => text.replace(/[\w.-]{20,}/g, maskWebTokens) },
  {
    heads: ['-----BEGIN '],
    mask: (text) =>
      text.replace(
        /-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|$)/g,
        MASK,
      ),
  },
  {
    heads: PREFIXES,
    mask: (text) =>
      text.replace(
        /\b(?:(?:AKIA|ASIA)[0-9A-Z]{16}\b|gh[pousr]_[A-Za-z0-9]{30,}|github_pat_\w{20,}|glpat-[\w-]{16,}|npm_[A-Za-z0-9]{30,}|AIza[\w-]{35}|[sr]k_(?:live|test)_[A-Za-z0-9]{16,}|xox[abprs]-[A-Za-z0-9-]{10,})/g,
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
export const SHAPE_HEADS = SHAPES.flatMap(({ heads }) => heads);

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

/** `holdsHead`: the text may contain one of SHAPE_HEADS. */
export function maskShapes(text: string, holdsHead: boolean): string {
  const result = maskEncodedAddresses(maskAddresses(text));
  if (!holdsHead) return result;
  return SHAPES.reduce(
    (masked, { heads, mask }) => (heads.some((head) => masked.includes(head)) ? mask(masked) : masked),
    result,
  );
}
