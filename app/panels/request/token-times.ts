/** `exp` and `iat` of the JSON Web Tokens that a request sent: two numbers of each, and nothing else of it. */
import { isRecord } from '../../profiler/json.ts';
import type { NamedValue } from '../../profiler/record/raw-headers.ts';

export interface TokenTimes {
  carrier: string | null;
  expiresAt: number;
  issuedAt: number | null;
}

const TOKEN = /^eyJ[\w-]{8,400}\.(eyJ[\w-]{1,8000})\.[\w-]{1,2000}$/;
const MOST_COOKIES = 50;

function timesIn(token: string): Pick<TokenTimes, 'expiresAt' | 'issuedAt'> | null {
  const [, payload] = TOKEN.exec(token) ?? [];
  if (payload === undefined) return null;
  try {
    const claims: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString());
    const { exp, iat } = isRecord(claims) ? claims : {};
    if (typeof exp !== 'number' || !Number.isFinite(exp)) return null;
    return { expiresAt: exp, issuedAt: typeof iat === 'number' && Number.isFinite(iat) ? iat : null };
  } catch {
    return null;
  }
}

/** undefined if it sent none that says when it expires. */
export function tokenTimesOf(headers: readonly NamedValue[]): TokenTimes[] | undefined {
  const found = headers.flatMap(({ name, value }): TokenTimes[] => {
    if (/^authorization$/i.test(name)) {
      const times = timesIn(/^bearer\s+(\S+)$/i.exec(value)?.[1] ?? '');
      return times === null ? [] : [{ carrier: null, ...times }];
    }
    if (!/^cookie$/i.test(name)) return [];
    return value
      .split(';')
      .slice(0, MOST_COOKIES)
      .flatMap((pair) => {
        const at = pair.indexOf('=');
        const times = at === -1 ? null : timesIn(pair.slice(at + 1).trim());
        return times === null ? [] : [{ carrier: pair.slice(0, at).trim(), ...times }];
      });
  });
  return found.length === 0 ? undefined : found;
}
