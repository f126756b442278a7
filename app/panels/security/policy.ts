/** A content security policy as text -> its directives, with what weakens them (CSP Level 3). */

export interface Directive {
  name: string;
  values: string[];
  /** What it gives away; null where nothing was noticed. */
  note: string | null;
}

export interface Policy {
  enforced: boolean;
  directives: Directive[];
}

const MOST_DIRECTIVES = 60;
const SCRIPT_DIRECTIVES = new Set(['default-src', 'script-src', 'script-src-elem', 'script-src-attr']);

function noteOf(name: string, values: readonly string[], repeated: boolean): string | null {
  if (repeated) return 'stands twice: browsers ignore this one';
  const lower = values.map((value) => value.toLowerCase());
  const hasNonceOrHash = lower.some((value) => /^'(?:nonce|sha(?:256|384|512))-/.test(value));
  const scripts = SCRIPT_DIRECTIVES.has(name);
  if (lower.includes("'unsafe-inline'"))
    return hasNonceOrHash
      ? "'unsafe-inline' is ignored beside a nonce or hash"
      : scripts
        ? 'inline scripts may run'
        : 'inline styles are let in';
  if (lower.includes("'unsafe-eval'")) return 'text may be run as code';
  if (scripts && lower.some((value) => value === '*' || value === 'https:' || value === 'http:'))
    return 'any host may deliver scripts';
  if (scripts && lower.includes('data:')) return 'data: addresses may run as scripts';
  return null;
}

export function parsePolicy(text: string, enforced: boolean): Policy {
  const seen = new Set<string>();
  const directives: Directive[] = [];
  for (const part of text.split(';').slice(0, MOST_DIRECTIVES)) {
    const [given, ...values] = part.trim().split(/\s+/);
    if (given === undefined || given === '') continue;
    const name = given.toLowerCase();
    directives.push({ name, values, note: noteOf(name, values, seen.has(name)) });
    seen.add(name);
  }
  return { enforced, directives };
}
