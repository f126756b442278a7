/** A Set-Cookie line -> name and flags, never its value; why browsers would reject it, and its weaknesses. */

export interface CookieFlags {
  name: string;
  secure: boolean;
  httpOnly: boolean;
  sameSite: string | null;
  path: string | null;
  domain: string | null;
  /** `session`, or by Expires or Max-Age. */
  lifetime: string;
  problems: string[];
  /** Why browsers reject it; null if they don't. */
  dropped: string | null;
}

/** Browsers reject longer ones (RFC 6265bis, 5.7). */
const LONGEST_COOKIE = 4096;

function attributesOf(parts: readonly string[]): Map<string, string> {
  const attributes = new Map<string, string>();
  for (const part of parts) {
    const at = part.indexOf('=');
    const name = (at === -1 ? part : part.slice(0, at)).trim().toLowerCase();
    attributes.set(name, at === -1 ? '' : part.slice(at + 1).trim());
  }
  return attributes;
}

function droppedOf(
  flags: Omit<CookieFlags, 'dropped' | 'problems'>,
  length: number,
  safe: boolean,
): string | null {
  const { name, secure, sameSite, path, domain } = flags;
  if (length > LONGEST_COOKIE) return `name and value are longer than ${LONGEST_COOKIE} bytes`;
  if (secure && !safe) return 'it is Secure, and the response was sent over http';
  if (sameSite?.toLowerCase() === 'none' && !secure) return 'SameSite=None needs Secure';
  if (/^__(?:secure|host)-/i.test(name) && !secure) return 'its prefix needs Secure';
  if (/^__host-/i.test(name) && (path !== '/' || domain !== null))
    return '__Host- needs Path=/ and no Domain';
  return null;
}

export function parseSetCookie(
  line: string,
  { https, local }: { https: boolean; local: boolean },
): CookieFlags {
  const [pair = '', ...rest] = line.split(';');
  const at = pair.indexOf('=');
  const attributes = attributesOf(rest);
  const flags = {
    name: (at === -1 ? '' : pair.slice(0, at)).trim(),
    secure: attributes.has('secure'),
    httpOnly: attributes.has('httponly'),
    sameSite: attributes.get('samesite') ?? null,
    path: attributes.get('path') ?? null,
    domain: attributes.get('domain') ?? null,
    lifetime: attributes.has('max-age')
      ? `${attributes.get('max-age') ?? ''} s`
      : (attributes.get('expires') ?? 'session'),
  };
  const problems = [
    ...(https && !flags.secure ? ['without Secure'] : []),
    ...(flags.httpOnly ? [] : ['scripts can read it']),
    ...(flags.sameSite === null ? ['without SameSite'] : []),
  ];
  return { ...flags, problems, dropped: droppedOf(flags, pair.length, https || local) };
}
