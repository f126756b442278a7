/**
 * The security panel: which security headers the answer carried and who set them, which are missing, what its content
 * security policy allows, and the flags of the cookies it set. Kept are those flags alone, for values of cookies are not; the
 * rest is read off the headers that the request panel keeps.
 */
import type { Context } from '../../profiler/context.ts';
import type { DeriveFrom, Panel } from '../../profiler/panel.ts';
import { authorsText, type NamedAuthors, type NamedStep } from '../shared/header-authors.ts';
import { authorsOf, responseOf } from '../shared/kept-panels.ts';
import { parsePolicy, type Policy } from './policy.ts';
import { type Answer, checkHeaders, type HeaderCheck, LOOKED_AT, POLICY_HEADERS } from './rules.ts';
import { parseSetCookie, type CookieFlags } from './set-cookie.ts';

export interface SecurityPanelData {
  scheme: 'http' | 'https';
  contentType: string | null;
  /** What was sent of the headers that are looked at: lower-case name and values. */
  sent: Record<string, string[]>;
  /** Who set the first of each, by the same names. */
  authors: Record<string, NamedStep[]>;
  /** Cookies that the answer set: name and flags. */
  jar: CookieFlags[];
  missing: number;
  problems: number;
}

/** What the view shows; worked out when a page is asked for. */
export interface SecurityPage {
  checks: (HeaderCheck & { by: string | null; place: string | null })[];
  policies: Policy[];
}

function answerOf({ scheme, contentType, sent }: SecurityPanelData): Answer {
  return {
    all: (name) => sent[name] ?? [],
    html: /^(?:text\/html|application\/xhtml\+xml)\b/i.test(contentType ?? ''),
    https: scheme === 'https',
  };
}

function present(data: SecurityPanelData): SecurityPage {
  const answer = answerOf(data);
  return {
    checks: checkHeaders(answer).map((check) => {
      const steps = data.authors[check.header.toLowerCase()] ?? [];
      return {
        ...check,
        by: steps.length === 0 ? null : authorsText(steps),
        place: steps.at(-1)?.place ?? null,
      };
    }),
    policies: POLICY_HEADERS.flatMap((name) =>
      answer.all(name).map((text) => parsePolicy(text, name === 'content-security-policy')),
    ),
  };
}

/** What each profile keeps: the cookies that the answer set, where it set any. */
export interface KeptSecurity {
  jar: CookieFlags[];
}

function collect(context: Context): KeptSecurity | null {
  const response = context.first('response');
  if (response === undefined || response.headersAtMs === null) return null;
  const raw = response.rawHeaders;
  const lines = raw.filter((_value, i) => i % 2 === 1 && raw[i - 1]?.toLowerCase() === 'set-cookie');
  if (lines.length === 0) return null;
  const origin = context.first('request')?.origin;
  // Browsers take these for safe, also over http.
  const local = /^(?:(?:.+\.)?localhost|127\.\d+\.\d+\.\d+|\[::1\])$/i.test(origin?.host ?? '');
  return { jar: lines.map((line) => parseSetCookie(line, { https: origin?.scheme === 'https', local })) };
}

/** By lower-case names that anyone may have chosen. */
function createTable<T>(): Record<string, T> {
  return Object.create(null) as Record<string, T>;
}

function authorsAt(
  places: readonly [name: string, index: number][],
  all: NamedAuthors | null,
): SecurityPanelData['authors'] {
  const authors = createTable<NamedStep[]>();
  for (const [name, index] of places) authors[name] = all?.sent[index] ?? [];
  return authors;
}

function derive(kept: KeptSecurity | null, from: DeriveFrom): SecurityPanelData | null {
  const response = responseOf(from);
  if (response === null) return null;
  const sent = createTable<string[]>();
  const firsts: [name: string, index: number][] = [];
  response.headers.forEach(({ name, value }, index) => {
    const known = name.toLowerCase();
    if (!LOOKED_AT.has(known)) return;
    if (sent[known] === undefined) firsts.push([known, index]);
    (sent[known] ??= []).push(value);
  });
  const jar = kept?.jar ?? [];
  let authors: SecurityPanelData['authors'] | null = null;
  const data: SecurityPanelData = {
    scheme: response.scheme,
    contentType: response.contentType,
    sent,
    // Only the page of this panel shows them; each page counts what is missing.
    get authors() {
      authors ??= authorsAt(firsts, authorsOf(from));
      return authors;
    },
    jar,
    missing: 0,
    problems: jar.filter(({ problems, dropped }) => problems.length > 0 || dropped !== null).length,
  };
  data.missing = checkHeaders(answerOf(data)).filter(({ state }) => state === 'missing').length;
  return data;
}

export function createSecurityPanel(): Panel<SecurityPanelData, KeptSecurity> {
  return {
    name: 'security',
    title: 'Security',
    collect,
    derive,
    present,
    summary({ missing, problems }) {
      if (problems > 0) return { text: String(missing + problems), tone: 'warn', count: missing + problems };
      return missing > 0 ? { text: String(missing), tone: 'plain', count: missing } : null;
    },
  };
}
