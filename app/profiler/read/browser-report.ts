/**
 * Failures in the browser, as the toolbar reported them: stored beside the profile as the late fact `browser`, and read as facts of its
 * record. It comes from a page, so all of it is untrusted: checked, limited and masked before it is stored.
 */

import { truncateText } from '../record/plain.ts';

export const BROWSER_KINDS = ['error', 'rejection', 'console', 'call', 'policy', 'file'] as const;

/** `file`: a script, style sheet or image that could not be loaded. `policy`: a content security policy blocked something. */
export type BrowserKind = (typeof BROWSER_KINDS)[number];

/** Lines that end with that of a place. */
export interface BrowserCode {
  from: number;
  lines: string[];
}

export interface BrowserFrame {
  name: string;
  /** `file:line` on the project's disk; else the path and line as the browser has them. */
  place: string;
  isOwn: boolean;
  code?: BrowserCode;
}

export interface BrowserCall {
  /** Its token: the name `token` would be masked. */
  request: string;
  method: string;
  path: string;
  status: number | null;
}

export interface BrowserFact {
  kind: BrowserKind;
  atMs: number;
  page: string;
  /** `TypeError`; of a file, its element; of a policy, `report` if it blocks nothing. */
  name: string | null;
  message: string | null;
  url: string | null;
  directive: string | null;
  frames: BrowserFrame[];
  calls: BrowserCall[];
}

declare module '../record/facts.ts' {
  interface Facts {
    browser: BrowserFact;
  }
}

export const MOST_BROWSER_FACTS = 20;

export interface ServedScript {
  /** Path of its address, as the browser has it. */
  path: string;
  etag: string | null;
}

/** A place in a script that a browser ran -> `file:line` of the project; null if the file is not found, or several differ. */
export type LocateFrontEnd = (
  script: ServedScript,
  line: number,
  column: number,
) => { place: string; code: BrowserCode | null } | null;

const LINES_BEFORE = 30;
const LONGEST_LINE = 300;

export function codeBefore(lines: readonly string[], line: number): BrowserCode | null {
  if (line < 1 || line > lines.length) return null;
  const from = Math.max(1, line - LINES_BEFORE);
  return { from, lines: lines.slice(from - 1, line).map((text) => truncateText(text, LONGEST_LINE)) };
}

/** Late facts as they are stored; another version may have stored another form. */
export function browserFactsIn({ browser }: Readonly<Record<string, unknown>>): BrowserFact[] {
  return Array.isArray(browser) ? (browser as BrowserFact[]) : [];
}
