/** A content security policy as text -> its directives, with what weakens them (CSP Level 3). */

export interface Directive {
  name: string;
  values: string[];
  /** Its weakness; null if none was found. */
  note: string | null;
}

export interface Policy {
  enforced: boolean;
  directives: Directive[];
  /** What it allows by leaving it out. */
  open: string[];
}

const MOST_DIRECTIVES = 60;
const SCRIPT_DIRECTIVES = new Set(['default-src', 'script-src', 'script-src-elem', 'script-src-attr']);
const STYLE_DIRECTIVES = new Set(['style-src', 'style-src-elem', 'style-src-attr']);
const NONCE_OR_HASH = /^'(?:nonce|sha(?:256|384|512))-/;
/** Removed from browsers. */
const OBSOLETE: Readonly<Record<string, string>> = {
  'block-all-mixed-content': 'obsolete: browsers do it by themselves',
  'plugin-types': 'obsolete: browsers ignore it',
  'reflected-xss': 'obsolete: browsers ignore it',
  referrer: 'obsolete: Referrer-Policy is a header of its own',
  'report-uri': 'replaced by report-to, which newer browsers follow',
};

function scriptNote(lower: readonly string[]): string | null {
  const isBound = lower.some((value) => NONCE_OR_HASH.test(value));
  if (lower.includes("'unsafe-inline'"))
    return isBound ? "'unsafe-inline' is ignored beside a nonce or hash" : 'inline scripts may run';
  if (lower.includes("'unsafe-eval'")) return 'text may be run as code';
  // Hosts are ignored beside it.
  if (lower.includes("'strict-dynamic'"))
    return isBound ? null : "'strict-dynamic' without a nonce or hash: no script runs at all";
  if (lower.some((value) => value === '*' || value === 'https:' || value === 'http:'))
    return 'any host may deliver scripts';
  if (lower.includes('data:') || lower.includes('blob:'))
    return 'data: and blob: addresses may run as scripts';
  return null;
}

function noteOf(name: string, values: readonly string[], isRepeated: boolean): string | null {
  if (isRepeated) return 'repeated: browsers ignore this one';
  if (OBSOLETE[name] !== undefined) return OBSOLETE[name];
  const lower = values.map((value) => value.toLowerCase());
  if (lower.includes("'none'") && lower.length > 1) return "'none' is ignored beside other values";
  if (SCRIPT_DIRECTIVES.has(name)) return scriptNote(lower);
  if (STYLE_DIRECTIVES.has(name))
    return lower.includes("'unsafe-inline'") && !lower.some((value) => NONCE_OR_HASH.test(value))
      ? 'allows inline styles'
      : null;
  if ((name === 'frame-ancestors' || name === 'form-action' || name === 'base-uri') && lower.includes('*'))
    return 'allows any site';
  return null;
}

function openEnds(directives: readonly Directive[], names: ReadonlySet<string>): string[] {
  if (names.has('sandbox') && directives.length === 1) return [];
  const hasDefault = names.has('default-src');
  return [
    ...(hasDefault || names.has('script-src')
      ? []
      : ['No script-src and no default-src: any script may run.']),
    ...(hasDefault || names.has('object-src') ? [] : ['No object-src: plug-ins may run code.']),
    ...(names.has('base-uri') ? [] : ['No base-uri: an injected <base> redirects relative scripts.']),
    ...(names.has('form-action') ? [] : ['No form-action: forms may be sent to any site.']),
    ...(names.has('frame-ancestors') ? [] : ['No frame-ancestors: any site may frame the page.']),
  ];
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
  return { enforced, directives, open: openEnds(directives, seen) };
}
