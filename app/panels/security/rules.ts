/** Checks of response headers: whether each is needed, and what is wrong with its value. */

/** A response as the rules read it. */
export interface SentHeaders {
  /** Values of a header, by its lower-case name. */
  all: (name: string) => string[];
  html: boolean;
  https: boolean;
}

export interface HeaderCheck {
  header: string;
  values: string[];
  /** `not needed`: missing, and useless on a response of this kind. */
  state: 'sent' | 'missing' | 'not needed';
  /** Its purpose; if it is missing or ineffective, the consequence. */
  note: string;
  /** The note describes a problem of the value. */
  isProblem: boolean;
}

interface Rule {
  header: string;
  purpose: string;
  /** The risk if it is needed and missing. */
  risk?: string;
  needed: (sent: SentHeaders) => boolean;
  /** The problem of the values sent; null if there is none. */
  problem?: (values: string[], sent: SentHeaders) => string | null;
  /** Shown only if it was sent. */
  onlySent?: true;
}

export const POLICY_HEADERS = ['content-security-policy', 'content-security-policy-report-only'] as const;
/** Preload lists require a year; half of it is common. */
const SHORT_AGE_S = 15_552_000;
const never = (): boolean => false;

function ageProblem([value = '']: string[], { https }: SentHeaders): string | null {
  const age = /max-age\s*=\s*"?(\d+)/i.exec(value)?.[1];
  if (age === undefined) return 'has no max-age: browsers ignore it';
  if (Number(age) === 0) return 'max-age is 0: it takes the rule back';
  if (!https) return 'browsers ignore it on a response over http';
  return Number(age) < SHORT_AGE_S
    ? `max-age is ${Math.floor(Number(age) / 86_400)} days: short visits lapse`
    : null;
}

const RULES: readonly Rule[] = [
  {
    header: 'Content-Security-Policy',
    purpose: 'controls what the page may load and run',
    risk: 'a script that gets into the page runs with all its rights',
    needed: ({ html }) => html,
  },
  {
    header: 'Strict-Transport-Security',
    purpose: 'keeps browsers on https',
    risk: 'the next visit may begin over http, where anyone in between can respond',
    needed: ({ https }) => https,
    problem: ageProblem,
  },
  {
    header: 'X-Content-Type-Options',
    purpose: 'stops browsers from guessing types',
    risk: 'an uploaded text may be run as a script or a page',
    needed: () => true,
    problem: ([value = '']) =>
      value.trim().toLowerCase() === 'nosniff' ? null : 'only “nosniff” has a meaning',
  },
  {
    header: 'X-Frame-Options',
    purpose: 'controls who may frame the page, unless frame-ancestors does',
    risk: 'any site may frame the page and have its buttons clicked',
    needed: ({ html, all }) =>
      html && !all('content-security-policy').some((value) => /frame-ancestors/i.test(value)),
    problem: ([value = '']) =>
      /^\s*(?:deny|sameorigin)\s*$/i.test(value) ? null : 'browsers know only DENY and SAMEORIGIN',
  },
  {
    header: 'Referrer-Policy',
    purpose: 'controls how much of the address other sites get',
    risk: 'browsers choose: the origin goes to every site that the page links to',
    needed: ({ html }) => html,
    problem: ([value = '']) =>
      /unsafe-url/i.test(value) ? 'whole addresses, with their queries, go to every site' : null,
  },
  {
    header: 'Permissions-Policy',
    purpose: 'controls which browser features the page may use',
    needed: never,
  },
  {
    header: 'Cross-Origin-Opener-Policy',
    purpose: 'keeps the page apart from windows of other origins',
    needed: never,
  },
  {
    header: 'Cross-Origin-Resource-Policy',
    purpose: 'controls which origins may embed the response',
    needed: never,
  },
  {
    header: 'Access-Control-Allow-Origin',
    purpose: 'lets scripts of other origins read the response',
    needed: never,
    onlySent: true,
    problem: ([value = ''], { all }) => {
      const isOpen = value.trim() === '*';
      if (isOpen && all('access-control-allow-credentials').some((text) => text.trim() === 'true'))
        return 'browsers refuse “*” beside Access-Control-Allow-Credentials';
      if (!isOpen && value.trim() !== 'null' && !all('vary').some((text) => /\borigin\b|\*/i.test(text)))
        return 'names one origin and does not vary by Origin: a cache may give it to another';
      return value.trim() === 'null' ? 'sandboxed pages of any site have the origin “null”' : null;
    },
  },
  {
    header: 'X-Powered-By',
    purpose: 'names the server software',
    needed: never,
    onlySent: true,
    problem: () => "tells attackers what to try: app.disable('x-powered-by')",
  },
];

/** Lower-case names of all checked headers. */
export const LOOKED_AT: ReadonlySet<string> = new Set([
  ...RULES.map(({ header }) => header.toLowerCase()),
  ...POLICY_HEADERS,
  'access-control-allow-credentials',
  'vary',
]);

function check({ header, purpose, risk, needed, problem }: Rule, sent: SentHeaders): HeaderCheck {
  const values = sent.all(header.toLowerCase());
  if (values.length === 0) {
    const isMissing = needed(sent);
    return {
      header,
      values,
      state: isMissing ? 'missing' : 'not needed',
      note: isMissing && risk !== undefined ? `${purpose}: without it ${risk}` : purpose,
      isProblem: false,
    };
  }
  const wrong = problem?.(values, sent) ?? null;
  return { header, values, state: 'sent', note: wrong ?? purpose, isProblem: wrong !== null };
}

export function checkHeaders(sent: SentHeaders): HeaderCheck[] {
  return RULES.map((rule) => ({ rule, result: check(rule, sent) }))
    .filter(({ rule, result }) => rule.onlySent !== true || result.state === 'sent')
    .map(({ result }) => result);
}
