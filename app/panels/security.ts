/**
 * The security panel: which security headers the answer carried, which are missing, what its content security policy
 * allows, and the flags of the cookies it set. Kept are those flags alone, for values of cookies are not; the rest is read
 * off the headers that the request panel keeps.
 */
import type { Context } from '../profiler/context.ts';
import type { DeriveFrom, Panel } from '../profiler/panel.ts';
import { responseOf } from './shared/kept-panels.ts';
import { parsePolicy, type Policy } from './security/policy.ts';
import { parseSetCookie, type CookieFlags } from './security/set-cookie.ts';

export interface HeaderCheck {
  header: string;
  values: string[];
  /** `not needed`: missing, and of no use on an answer of this kind. */
  state: 'sent' | 'missing' | 'not needed';
  /** What it is for, or what is wrong with its value. */
  note: string;
}

export interface SecurityPanelData {
  scheme: 'http' | 'https';
  contentType: string | null;
  /** What was sent of the headers that are looked at: lower-case name and values. */
  sent: Record<string, string[]>;
  /** Cookies that the answer set: name and flags. */
  jar: CookieFlags[];
  missing: number;
  problems: number;
}

/** What the view shows; worked out when a page is asked for. */
export interface SecurityPage {
  checks: HeaderCheck[];
  policies: Policy[];
}

interface Answer {
  all: (name: string) => string[];
  html: boolean;
  https: boolean;
}

interface Rule {
  header: string;
  purpose: string;
  needed: (answer: Answer) => boolean;
  /** What is wrong with the values sent; null where nothing is. */
  problem?: (values: string[]) => string | null;
}

const POLICY_HEADERS = ['content-security-policy', 'content-security-policy-report-only'] as const;
const RULES: readonly Rule[] = [
  {
    header: 'Content-Security-Policy',
    purpose: 'says what a page may load and run',
    needed: ({ html }) => html,
  },
  {
    header: 'Strict-Transport-Security',
    purpose: 'keeps browsers on https',
    needed: ({ https }) => https,
    problem: ([value = '']) => {
      const age = /max-age\s*=\s*"?(\d+)/i.exec(value)?.[1];
      if (age === undefined) return 'has no max-age: browsers ignore it';
      return Number(age) === 0 ? 'max-age is 0: it takes the rule back' : null;
    },
  },
  {
    header: 'X-Content-Type-Options',
    purpose: 'stops browsers from guessing types',
    needed: () => true,
    problem: ([value = '']) =>
      value.trim().toLowerCase() === 'nosniff' ? null : 'only “nosniff” has a meaning',
  },
  {
    header: 'X-Frame-Options',
    purpose: 'says who may frame the page, where no frame-ancestors does',
    needed: ({ html, all }) =>
      html && !all('content-security-policy').some((value) => /frame-ancestors/i.test(value)),
    problem: ([value = '']) =>
      /^\s*(?:deny|sameorigin)\s*$/i.test(value) ? null : 'browsers know only DENY and SAMEORIGIN',
  },
  {
    header: 'Referrer-Policy',
    purpose: 'says how much of the address other sites get',
    needed: ({ html }) => html,
  },
  {
    header: 'Permissions-Policy',
    purpose: 'says which features of the browser a page may use',
    needed: () => false,
  },
  {
    header: 'Cross-Origin-Opener-Policy',
    purpose: 'keeps the page apart from windows of other origins',
    needed: () => false,
  },
  {
    header: 'Cross-Origin-Resource-Policy',
    purpose: 'says which origins may embed the answer',
    needed: () => false,
  },
];

function check(rule: Rule, answer: Answer): HeaderCheck {
  const values = answer.all(rule.header.toLowerCase());
  if (values.length === 0)
    return {
      header: rule.header,
      values,
      state: rule.needed(answer) ? 'missing' : 'not needed',
      note: rule.purpose,
    };
  return { header: rule.header, values, state: 'sent', note: rule.problem?.(values) ?? rule.purpose };
}

function answerOf({ scheme, contentType, sent }: SecurityPanelData): Answer {
  return {
    all: (name) => sent[name] ?? [],
    html: /^text\/html\b/i.test(contentType ?? ''),
    https: scheme === 'https',
  };
}

function present(data: SecurityPanelData): SecurityPage {
  const answer = answerOf(data);
  return {
    checks: RULES.map((rule) => check(rule, answer)),
    policies: POLICY_HEADERS.flatMap((name) =>
      answer.all(name).map((text) => parsePolicy(text, name === 'content-security-policy')),
    ),
  };
}

/** What each profile keeps: the cookies that the answer set, where it set any. */
interface KeptSecurity {
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

const LOOKED_AT = new Set<string>([...RULES.map(({ header }) => header.toLowerCase()), ...POLICY_HEADERS]);

function derive(kept: KeptSecurity | null, from: DeriveFrom): SecurityPanelData | null {
  const response = responseOf(from);
  if (response === null) return null;
  const sent: Record<string, string[]> = Object.create(null) as Record<string, string[]>;
  for (const { name, value } of response.headers) {
    const known = name.toLowerCase();
    if (LOOKED_AT.has(known)) (sent[known] ??= []).push(value);
  }
  const jar = kept?.jar ?? [];
  const data: SecurityPanelData = {
    scheme: response.scheme,
    contentType: response.contentType,
    sent,
    jar,
    missing: 0,
    problems: jar.filter(({ problems }) => problems.length > 0).length,
  };
  const answer = answerOf(data);
  data.missing = RULES.filter(
    (rule) => rule.needed(answer) && answer.all(rule.header.toLowerCase()).length === 0,
  ).length;
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
    findings: ({ jar }) =>
      jar.flatMap((entry, index) =>
        entry.dropped === null
          ? []
          : [
              {
                label: 'cookie lost',
                severity: 'warn' as const,
                sentence: `Browsers drop the cookie “${entry.name}”: ${entry.dropped}.`,
                place: 'Set-Cookie',
                panel: 'security',
                anchor: `c-${index + 1}`,
              },
            ],
      ),
  };
}
