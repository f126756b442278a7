/** Cookies whose Max-Age is a usual lifetime divided by 1,000: Express wants milliseconds and sends seconds. */

/** Max-Age -> what it would have been. */
const MEANT: ReadonlyMap<number, string> = new Map([
  [3, '1 hour'],
  [86, '1 day'],
  [604, '7 days'],
  [1209, '14 days'],
  [2592, '30 days'],
  [7776, '90 days'],
  [15_552, '180 days'],
  [31_536, '365 days'],
]);

/** A message that is shown once may well live for seconds. */
const MESSAGE = /flash|message|msg|toast|notice|state|nonce/i;

/** Of a Set-Cookie; null if its lifetime is none of these. */
export function shortCookieOf(line: string): { name: string; maxAge: number; meant: string } | null {
  const maxAge = Number(/;\s*max-age=(\d{1,6})\s*(?:;|$)/i.exec(line)?.[1] ?? NaN);
  const meant = MEANT.get(maxAge);
  const [name = ''] = line.split('=', 1);
  return meant === undefined || MESSAGE.test(name) ? null : { name: name.trim(), maxAge, meant };
}
