/**
 * Whether the content security policies of a response allow the toolbar's script: CSP level 3, for a parser-inserted external script. If
 * one would block the script, the page gets no tag, so that the tag never causes a violation. A report-only policy counts like an
 * enforced one.
 */

type Policy = ReadonlyMap<string, readonly string[]>;

interface AskedScript {
  /** Origin of the page, if known: `https://shop.example`. */
  origin: string | null;
  path: string;
  /** `sha256-…` of its content; null while unknown. */
  integrity: string | null;
  /** The nonce in `res.locals`, for a policy that a proxy adds. */
  localsNonce: string | null;
}

export type Verdict =
  | { allowed: true; nonce: string | null; integrity: string | null; connects: boolean }
  /** The directive that forbids it. */
  | { allowed: false; directive: string };

const NONCE = /^'nonce-([a-z0-9+/_-]+={0,2})'$/i;
const HASH = /^'(sha(?:256|384|512)-[a-z0-9+/_-]+={0,2})'$/i;
const HOST =
  /^(?:([a-z][a-z0-9+.-]*):\/\/)?(\*|(?:\*\.)?[a-z0-9_-]+(?:\.[a-z0-9_-]+)*\.?|\[[0-9a-f:.]+\])(?::(\d+|\*))?(\/[^?#]*)?$/i;
const DEFAULT_PORTS: Readonly<Record<string, string>> = { http: '80', https: '443', ws: '80', wss: '443' };
/** Maximum per page. */
const MOST_NONCES = 20;

/** Whether it needs no escaping in a tag and is valid in a policy. */
export function isNonce(text: unknown): text is string {
  return typeof text === 'string' && text.length <= 256 && /^[a-z0-9+/_-]+={0,2}$/i.test(text);
}

/** A header may contain several policies, separated by commas. */
function parsePolicies(text: string): Policy[] {
  return text.split(',').flatMap((serialized) => {
    const policy = new Map<string, readonly string[]>();
    for (const directive of serialized.split(';')) {
      const [name = '', ...values] = directive.trim().split(/[\t\n\f\r ]+/);
      const key = name.toLowerCase();
      if (key !== '' && !policy.has(key)) policy.set(key, values);
    }
    return policy.size === 0 ? [] : [policy];
  });
}

/** The first of these directives that the policy contains. */
function governing(
  policy: Policy,
  names: readonly string[],
): { name: string; sources: readonly string[] } | null {
  for (const name of names) {
    const sources = policy.get(name);
    if (sources !== undefined) return { name, sources };
  }
  return null;
}

function schemeMatches(source: string, scheme: string): boolean {
  const asked = source.toLowerCase();
  return (
    asked === scheme ||
    (asked === 'http' && scheme === 'https') ||
    (asked === 'ws' && /^wss|https?$/.test(scheme))
  );
}

function hostMatches(source: string, host: string): boolean {
  const asked = source.toLowerCase();
  if (asked === '*') return true;
  return asked.startsWith('*.') ? host.endsWith(asked.slice(1)) : host === asked;
}

function portMatches(asked: string | undefined, scheme: string, port: string): boolean {
  if (asked === '*') return true;
  const own = port === '' ? DEFAULT_PORTS[scheme] : port;
  if (asked === undefined) return own === DEFAULT_PORTS[scheme];
  return asked === own || (asked === '80' && own === '443' && scheme === 'https');
}

function pathMatches(asked: string | undefined, path: string): boolean {
  if (asked === undefined || asked === '/') return true;
  let decoded: string;
  try {
    decoded = decodeURIComponent(asked);
  } catch {
    return false;
  }
  return decoded.endsWith('/') ? path.startsWith(decoded) : path === decoded;
}

/** Whether a source allows an address of the page's own origin. */
function reaches(source: string, { origin, path }: Pick<AskedScript, 'origin' | 'path'>): boolean {
  if (source.toLowerCase() === "'self'" || source === '*') return true;
  if (origin === null) return false;
  const { protocol, hostname, port } = new URL(origin);
  const scheme = protocol.slice(0, -1);
  const alone = /^([a-z][a-z0-9+.-]*):$/i.exec(source);
  if (alone !== null) return schemeMatches(alone[1] ?? '', scheme);
  const [, askedScheme, host, askedPort, askedPath] = HOST.exec(source) ?? [];
  return (
    host !== undefined &&
    (askedScheme === undefined || schemeMatches(askedScheme, scheme)) &&
    hostMatches(host, hostname) &&
    portMatches(askedPort, scheme, port) &&
    pathMatches(askedPath, path)
  );
}

interface Attributes {
  nonce: string | null;
  integrity: string | null;
}

function allowsScript(
  sources: readonly string[],
  script: AskedScript,
  { nonce, integrity }: Attributes,
): boolean {
  if (nonce !== null && sources.some((source) => NONCE.exec(source)?.[1] === nonce)) return true;
  if (integrity !== null && sources.some((source) => HASH.exec(source)?.[1] === integrity)) return true;
  if (sources.some((source) => source.toLowerCase() === "'strict-dynamic'")) return false;
  return sources.some((source) => reaches(source, script));
}

function scriptDirective(policy: Policy): ReturnType<typeof governing> {
  return governing(policy, ['script-src-elem', 'script-src', 'default-src']);
}

function isSandboxed(policy: Policy): boolean {
  return policy.get('sandbox')?.some((value) => value.toLowerCase() === 'allow-scripts') === false;
}

function connects(policy: Policy, script: AskedScript): boolean {
  const sandbox = policy.get('sandbox');
  if (sandbox?.some((value) => value.toLowerCase() === 'allow-same-origin') === false) return false;
  const directive = governing(policy, ['connect-src', 'default-src']);
  const asked = { origin: script.origin, path: script.path.slice(0, script.path.lastIndexOf('/') + 1) };
  return directive === null || directive.sources.some((source) => reaches(source, asked));
}

/** Attributes to try: each nonce in the policies, then none, and a hash only if nothing else is allowed. */
function candidates(policies: readonly Policy[], script: AskedScript): Attributes[] {
  const sources = policies.flatMap((policy) => scriptDirective(policy)?.sources ?? []);
  const nonces = new Set(sources.flatMap((source) => NONCE.exec(source)?.[1] ?? []));
  const fromLocals = policies.length === 0 && isNonce(script.localsNonce) ? script.localsNonce : null;
  const tries = [...[...nonces].slice(0, MOST_NONCES), fromLocals];
  const plain = tries.map((nonce) => ({ nonce, integrity: null }));
  const { integrity } = script;
  return integrity === null ? plain : [...plain, ...tries.map((nonce) => ({ nonce, integrity }))];
}

export function judge(headers: readonly string[], script: AskedScript): Verdict {
  const policies = headers.flatMap(parsePolicies);
  if (policies.some(isSandboxed)) return { allowed: false, directive: 'sandbox' };
  let against = 'script-src';
  for (const attributes of candidates(policies, script)) {
    const blocking = policies
      .map(scriptDirective)
      .find((directive) => directive !== null && !allowsScript(directive.sources, script, attributes));
    if (blocking === undefined)
      return { allowed: true, ...attributes, connects: policies.every((policy) => connects(policy, script)) };
    if (blocking !== null) against = blocking.name;
  }
  return { allowed: false, directive: against };
}
