/**
 * A route whose requests are recorded in full for a minute, above the limit of all others: asked for on the page of a summary. A setting of
 * the store, so it holds for all processes; each reads it in the background while requests arrive.
 */
import type { Store } from '../store/store.ts';

export interface WantedRoute {
  method: string;
  route: string;
}

export interface RouteInFull {
  /** Whether this one is recorded in full, as far as this process knows. Called for each request. */
  matches(method: string, target: string): boolean;
  until(wanted: WantedRoute): number | null;
  start(wanted: WantedRoute): Promise<void>;
  /** Reads the setting. Never rejects: if it can't be read, nothing changes. */
  refresh(): Promise<void>;
}

const SETTING = 'route-in-full';
const FOR_MS = 60_000;
const READ_EVERY_MS = 800;
const LONGEST_PATTERN = 500;
const LONGEST_PATH = 2000;
/** A parameter, with its own pattern in Express 4; a wildcard; what may be absent; all else. */
const PART = /:(\w+)(?:\([^()]*\))?|\*\w*|[{}]|[^:*{}]/g;

/** What the paths of a pattern look like; null: it has none that can be told before the request is routed. */
export function pathsOf(pattern: string): RegExp | null {
  if (
    !pattern.startsWith('/') ||
    pattern.length > LONGEST_PATTERN ||
    /[()?+|[\]\\]|\s/.test(pattern.replace(/:\w+\([^()]*\)/g, ''))
  )
    return null;
  const source = pattern.replace(PART, (part) => {
    if (part.startsWith(':')) return '[^/]+';
    if (part.startsWith('*')) return '.*';
    if (part === '{') return '(?:';
    return part === '}' ? ')?' : part.replace(/[.$^-]/g, '\\$&');
  });
  try {
    return new RegExp(`^${source}/?$`, 'i');
  } catch {
    return null;
  }
}

export function createRouteInFull(store: Pick<Store, 'setting'>): RouteInFull {
  let current: (WantedRoute & { until: number; paths: RegExp | null }) | null = null;
  let readAt = -Infinity;

  async function refresh(): Promise<void> {
    readAt = performance.now();
    try {
      const text = await store.setting(SETTING);
      const read = text === null ? null : (JSON.parse(text) as WantedRoute & { until: number });
      current = read === null || read.until < Date.now() ? null : { ...read, paths: pathsOf(read.route) };
    } catch {
      // Without a store nobody can have asked for a route.
    }
  }

  return {
    refresh,
    matches(method, target) {
      if (performance.now() - readAt > READ_EVERY_MS) void refresh();
      if (current === null || current.method !== method || current.until < Date.now()) return false;
      const [path = ''] = target.split('?', 1);
      return path.length <= LONGEST_PATH && current.paths?.test(path) === true;
    },
    until: ({ method, route }) =>
      current?.method === method && current.route === route && current.until > Date.now()
        ? current.until
        : null,
    async start({ method, route }) {
      await store.setting(SETTING, JSON.stringify({ method, route, until: Date.now() + FOR_MS }));
      await refresh();
    },
  };
}
