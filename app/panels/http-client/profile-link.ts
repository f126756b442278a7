/** The profile of a called service: its token, where it is one of ours, else its address. */
import type { Profile } from '../../profiler/profile.ts';
import type { Detail } from '../../profiler/rows.ts';
import type { CallEntry } from './data.ts';

/** Only http and https: the address comes from the called service, which is not trusted. */
function safeLink(link: string | null, base: string): string | null {
  if (link === null || link.length > 2000 || /[\s"'<>\\]/.test(link)) return null;
  const isPath = link.startsWith('/') && !link.startsWith('//') && URL.canParse(link, base);
  const whole = isPath ? new URL(link, base).href : link;
  return /^https?:\/\/[^/]/i.test(whole) ? whole : null;
}

/** A token only if the profile is of the same storage, or of this origin. */
export function profileLink(
  { link, url }: CallEntry,
  { origin, called }: { origin: string | null; called: Profile | undefined },
): NonNullable<Detail['link']> | null {
  if (called !== undefined) return { label: called.token, token: called.token };
  const href = safeLink(link, url);
  if (href === null) return null;
  const own = /^(.*)\/_profiler\/([0-9a-f]{6})$/.exec(href);
  const token = own !== null && own[1] === origin ? own[2] : undefined;
  return token === undefined ? { label: href, href } : { label: token, token };
}
