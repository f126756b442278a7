/** Cookies whose lifetime is a usual one divided by 1,000: Express and express-session want milliseconds. */

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

/** `express-session` sends a moment only, and computes it before the response is sent. */
const LATE_SECONDS = 2;
const SHORTEST_MOMENT = 60;

function momentOf(line: string, atMs: number): number | undefined {
  if (/;\s*max-age=/i.test(line)) return undefined;
  const seconds = (Date.parse(/;\s*expires=([^;]+)/i.exec(line)?.[1] ?? '') - atMs) / 1000;
  return [...MEANT.keys()].find(
    (one) => one > SHORTEST_MOMENT && seconds < one + 1 && seconds > one - LATE_SECONDS,
  );
}

export interface ShortCookie {
  name: string;
  seconds: number;
  meant: string;
  attribute: 'Max-Age' | 'Expires';
}

/** Of a Set-Cookie that was sent at `atMs`; null if its lifetime is none of these. */
export function shortCookieOf(line: string, atMs: number): ShortCookie | null {
  const maxAge = /;\s*max-age=(\d{1,6})\s*(?:;|$)/i.exec(line)?.[1];
  const seconds = maxAge === undefined ? momentOf(line, atMs) : Number(maxAge);
  const meant = MEANT.get(seconds ?? NaN);
  const [name = ''] = line.split('=', 1);
  if (seconds === undefined || meant === undefined || MESSAGE.test(name)) return null;
  return { name: name.trim(), seconds, meant, attribute: maxAge === undefined ? 'Expires' : 'Max-Age' };
}
