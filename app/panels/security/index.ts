/**
 * The security panel: security headers of the response and who set them, missing ones, what the content security policy allows, and the
 * flags of cookies. Only these flags are stored, never a cookie's value; the rest is derived from the headers of the request panel.
 */
import type { Context } from '../../profiler/context.ts';
import type { DeriveFrom, Panel } from '../../profiler/panel.ts';
import { rawHeader } from '../../profiler/raw-headers.ts';
import type { NamedAuthors, NamedStep } from '../shared/header-authors.ts';
import { authorsOf, responseOf } from '../shared/kept-panels.ts';
import type { KeptSecurity, SecurityData } from './data.ts';
import { checksOf, noHeaders, presentSecurity } from './present.ts';
import { LOOKED_AT } from './rules.ts';
import { parseSetCookie } from './set-cookie.ts';

function collect(context: Context): KeptSecurity | null {
  const response = context.first('response');
  if (response === undefined || response.headersAtMs === null) return null;
  const raw = response.rawHeaders;
  if (rawHeader(raw, 'set-cookie') === null) return null;
  const lines = raw.filter((_value, i) => i % 2 === 1 && raw[i - 1]?.toLowerCase() === 'set-cookie');
  const origin = context.first('request')?.origin;
  // Browsers treat these as secure, also over http.
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
): SecurityData['authors'] {
  const authors = createTable<NamedStep[]>();
  for (const [name, index] of places) authors[name] = all?.sent[index] ?? [];
  return authors;
}

function derive(kept: KeptSecurity | null, from: DeriveFrom): SecurityData | null {
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
  let authors: SecurityData['authors'] | null = null;
  const data: SecurityData = {
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
  data.missing = checksOf(data).filter(({ state }) => state === 'missing').length;
  return data;
}

export const securityPanel: Panel<SecurityData, KeptSecurity> = {
  name: 'security',
  title: 'Security',
  group: 'process',
  key: 's',
  toolbar: { rank: 83, onlyWhenWrong: true },
  collect,
  derive,
  summary({ missing, problems }) {
    if (problems > 0) return { text: String(missing + problems), tone: 'warn', count: missing + problems };
    return missing > 0 ? { text: String(missing), tone: 'plain', count: missing } : null;
  },
  empty: noHeaders,
  present: presentSecurity,
};
