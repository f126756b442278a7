/** For rules that read a text from left to right: replaced parts, and quoted texts. */

/** Calls `step` for each match; it may replace parts of the text, and the search goes on behind the last one. */
export function rewrite(
  text: string,
  expression: RegExp,
  step: (match: RegExpExecArray, replace: (from: number, to: number, by: string) => void) => void,
): string {
  let result = '';
  let done = 0;
  const replace = (from: number, to: number, by: string): void => {
    result += text.slice(done, from) + by;
    done = to;
    expression.lastIndex = to;
  };
  expression.lastIndex = 0;
  for (let match = expression.exec(text); match !== null; match = expression.exec(text)) step(match, replace);
  return done === 0 ? text : result + text.slice(done);
}

export function execAt(expression: RegExp, text: string, start: number): RegExpExecArray | null {
  expression.lastIndex = start;
  return expression.exec(text);
}

export interface Quoted {
  start: number;
  open: string;
  /** Between the quotes; the rest of the text if it was truncated before the closing quote. */
  value: string;
  close: string;
  end: number;
}

const OPEN = /\\{0,16}["'`]/y;

function backslashesBefore(text: string, at: number, from: number): number {
  let start = at;
  while (start > from && text.charCodeAt(start - 1) === 0x5c) start--;
  return at - start;
}

/** A quote with more backslashes than the opening one is part of the value; one with fewer ends the string around it. */
function closes(count: number, depth: number): boolean {
  return depth === 0 ? count % 2 === 0 : count <= depth;
}

/**
 * The quoted text that opens at `start`; null if none does. The quotes may be escaped because they are inside another string:
 * `password: \"…\"`. In SQL, two quotes stand for one.
 */
export function readQuoted(text: string, start: number): Quoted | null {
  OPEN.lastIndex = start;
  const open = OPEN.exec(text)?.[0];
  if (open === undefined) return null;
  const quote = open.slice(-1);
  const depth = open.length - 1;
  const from = start + open.length;
  for (let at = text.indexOf(quote, from); at !== -1; at = text.indexOf(quote, at + 1)) {
    const count = backslashesBefore(text, at, from);
    if (!closes(count, depth)) continue;
    if (quote === "'" && at > from && text.charAt(at + 1) === quote) {
      at++;
      continue;
    }
    const until = depth === 0 ? at : at - count;
    return { start, open, value: text.slice(from, until), close: text.slice(until, at + 1), end: at + 1 };
  }
  return { start, open, value: text.slice(from), close: '', end: text.length };
}

const GOES_ON = /\s{0,20}(?:\+|\|\|)\s{0,20}(?=\\{0,16}["'`])/y;

/** Texts joined by `+`, as Node.js prints a long one, or by `||`, as in SQL. */
export function readConcatenated(text: string, start: number): Quoted[] {
  const found: Quoted[] = [];
  let at = start;
  for (;;) {
    const quoted = readQuoted(text, at);
    if (quoted === null) return found;
    found.push(quoted);
    GOES_ON.lastIndex = quoted.end;
    const joint = GOES_ON.exec(text)?.[0];
    if (joint === undefined) return found;
    at = quoted.end + joint.length;
  }
}

/** The quoted texts between two places. */
export function quotedBetween(text: string, start: number, end: number): Quoted[] {
  const found: Quoted[] = [];
  for (let at = start; at < end; at++) {
    if (!/[\\"'`]/.test(text.charAt(at))) continue;
    const quoted = readQuoted(text, at);
    if (quoted === null) continue;
    if (quoted.value !== '') found.push(quoted);
    at = quoted.end - 1;
  }
  return found;
}
