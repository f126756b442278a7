/** Where a text stands in a stored document: in its URL, in what was thrown, logged, dumped or asked of the database. */
import type { ProfileDocument } from './profile.ts';
import type { TextPlace } from './storage.ts';

/** Panels whose words are looked through. Headers, settings and paths of files would match nearly any word. */
const SEARCHED = ['exception', 'logs', 'dump', 'database'];
/** Names of fields that hold no words of the application: kinds, places, frames. */
const PASSED_OVER = new Set([
  'frames', 'source', 'caller', 'anchor', 'kind', 'label', 'level', 'channel', 'instance', 'connection',
]); // prettier-ignore
/** Characters shown before and after. */
const BEFORE = 30;
const AFTER = 70;

/** A text as it stands in a document, which is JSON. */
export function escapedForJson(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

function placeIn(value: string, wanted: string, panel: string | null): TextPlace | null {
  const at = value.toLowerCase().indexOf(wanted);
  if (at === -1) return null;
  const end = at + wanted.length;
  return {
    panel,
    before: `${at > BEFORE ? '…' : ''}${value.slice(Math.max(0, at - BEFORE), at)}`,
    text: value.slice(at, end),
    after: `${value.slice(end, end + AFTER)}${value.length > end + AFTER ? '…' : ''}`,
  };
}

/** Walks without recursion: what is recorded may nest. */
function placeBelow(root: unknown, wanted: string, panel: string): TextPlace | null {
  const work: unknown[] = [root];
  for (let value = work.pop(); value !== undefined; value = work.pop()) {
    if (typeof value === 'string') {
      const place = placeIn(value, wanted, panel);
      if (place !== null) return place;
    } else if (Array.isArray(value)) work.push(...[...(value as unknown[])].reverse());
    else if (typeof value === 'object' && value !== null)
      for (const [name, inner] of Object.entries(value).reverse())
        if (!PASSED_OVER.has(name) && inner !== null) work.push(inner);
  }
  return null;
}

/** The first place, the shortest way to what went wrong: error, URL, then the panels. Null where it stands nowhere. */
export function findText(document: string, text: string): TextPlace | null {
  const wanted = text.toLowerCase();
  let parsed: Partial<ProfileDocument>;
  try {
    parsed = JSON.parse(document) as Partial<ProfileDocument>;
  } catch {
    return null;
  }
  const { error, url, panels = {} } = parsed;
  for (const value of [
    error === undefined || error === null ? '' : `${error.name}: ${error.message}`,
    url ?? '',
  ]) {
    const place = placeIn(value, wanted, null);
    if (place !== null) return place;
  }
  for (const panel of SEARCHED) {
    const place = placeBelow(panels[panel]?.data, wanted, panel);
    if (place !== null) return place;
  }
  return null;
}
