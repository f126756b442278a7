/** The name of a downloaded profile: method, path and token, `GET-orders-4712-b69e96.html`. */
import type { Profile } from '../../profiler/profile.ts';

const LONGEST_PATH = 60;

/** The header that makes a browser save the response. */
export function attachment({ method, url, token }: Profile, ending: string): Record<string, string> {
  const path = url.replace(/[?#].*$/s, '').replace(/[^A-Za-z0-9_]+/g, '-');
  const words = [method, path.slice(0, LONGEST_PATH)].map((word) =>
    word.replace(/[^A-Za-z0-9_-]/g, '').replace(/^-+|-+$/g, ''),
  );
  const name = [...words.filter((word) => word !== ''), token].join('-');
  return { 'content-disposition': `attachment; filename="${name}.${ending}"` };
}
