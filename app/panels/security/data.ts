import type { NamedStep } from '../shared/header-authors.ts';
import type { CookieFlags } from './set-cookie.ts';

export interface SecurityData {
  scheme: 'http' | 'https';
  contentType: string | null;
  /** The checked headers as sent: lower-case name and values. */
  sent: Record<string, string[]>;
  /** The author of the first of each, by the same names. */
  authors: Record<string, NamedStep[]>;
  /** Cookies that the response set: name and flags. */
  jar: CookieFlags[];
  missing: number;
  problems: number;
}

/** What each profile stores: the cookies that the response set, if any. */
export interface KeptSecurity {
  jar: CookieFlags[];
}
