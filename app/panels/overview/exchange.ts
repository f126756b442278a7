/** What was received and what was sent back, in brief: parameters and user, the beginning of the body, headers counted. */
import type { Profile } from '../../profiler/profile.ts';
import { type RecordedRequest, requestOf } from './recorded.ts';
import { STATUS_CODES } from '../../node-http.ts';

export interface Pair {
  name: string;
  value: unknown;
  say: string | null;
}

export interface Received {
  pairs: Pair[];
  left: number;
  headers: readonly { name: string; value: string }[];
}

export interface Sent {
  status: string;
  contentType: string | null;
  bytes: number;
  /** The beginning of the body; null if it was not recorded. */
  preview: string | null;
  /** More than the preview was sent. */
  more: boolean;
  location: string | null;
  headers: readonly { name: string; value: string }[];
  /** Middleware that set several headers, those with most first. */
  authors: { by: string; count: number }[];
}

const MOST_PAIRS = 12;
const PREVIEW_LINES = 6;
const PREVIEW_LENGTH = 600;
/** From as many headers on it is worth naming who set them. */
const SEVERAL = 3;

function pairsOf(
  pairs: readonly { name: string; value: unknown }[] | null | undefined,
  say: string | null,
): Pair[] {
  return (pairs ?? []).map(({ name, value }) => ({ name, value, say }));
}

/** The fields of an object, else the value itself. */
function fieldsOf(name: string, value: unknown): Pair[] {
  if (value === undefined || value === null) return [];
  if (typeof value !== 'object' || Array.isArray(value)) return [{ name, value, say: null }];
  return Object.entries(value).map(([key, item]) => ({
    name: `${name}.${key}`,
    value: item as unknown,
    say: null,
  }));
}

function userPairs(sessionAndUser: RecordedRequest['sessionAndUser']): Pair[] {
  const { user, session } = sessionAndUser ?? {};
  return [...fieldsOf('user', user), ...fieldsOf('session', session)];
}

export function receivedOf(profile: Profile): Received | null {
  const request = requestOf(profile);
  if (request === null) return null;
  const { routeParams, query, body, sessionAndUser, headers = [] } = request;
  const all = [
    ...pairsOf(routeParams, 'route'),
    ...pairsOf(query, null),
    ...pairsOf(body?.fields, 'form'),
    ...fieldsOf('body', body?.parsed),
    ...(body?.files ?? []).map(({ field, name }) => ({ name: field, value: name, say: 'file' })),
    ...userPairs(sessionAndUser),
  ];
  return { pairs: all.slice(0, MOST_PAIRS), left: Math.max(0, all.length - MOST_PAIRS), headers };
}

/** JSON is indented, unless only its beginning was recorded. */
function readable(text: string, contentType: string | null): string {
  if (contentType === null || !/\bjson\b/i.test(contentType)) return text;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

function previewOf(sent: string | null, contentType: string | null): Pick<Sent, 'preview' | 'more'> {
  if (sent === null || sent === '') return { preview: null, more: false };
  const text = readable(sent, contentType);
  const lines = text
    .replace(/^\s*\n/gm, '')
    .split('\n')
    .slice(0, PREVIEW_LINES)
    .join('\n');
  const preview = lines.slice(0, PREVIEW_LENGTH).toWellFormed();
  return { preview, more: preview.length < text.trimEnd().length };
}

export function sentOf(profile: Profile): Sent | null {
  const response = requestOf(profile)?.response ?? null;
  const { status } = profile;
  if (response === null || status === null) return null;
  const { headers, contentType, bytes, text, truncated = false } = response;
  const counts = new Map<string, number>();
  for (const steps of response.authors?.sent ?? []) {
    const by = steps.at(-1)?.by;
    if (by !== undefined) counts.set(by, (counts.get(by) ?? 0) + 1);
  }
  const { preview, more } = previewOf(text, contentType);
  return {
    status: `${status} ${profile.statusMessage || (STATUS_CODES[status] ?? '')}`.trim(),
    contentType: contentType?.replace(/;.*$/s, '') ?? null,
    bytes,
    preview,
    more: more || truncated,
    location: headers.find(({ name }) => name.toLowerCase() === 'location')?.value ?? null,
    headers,
    authors: Array.from(counts, ([by, count]) => ({ by, count }))
      .filter(({ count }) => count >= SEVERAL)
      .sort((a, b) => b.count - a.count),
  };
}
