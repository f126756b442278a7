/**
 * What we rely on of the routers of Express 4 and 5, which is documented nowhere: a router has a `stack` of layers, and a layer matches
 * a path by a regular expression (Express 4) or by a list of functions (router 2). `layer.match` is never called: before router 2.3 it
 * writes to the layer.
 */

export interface Layer {
  name?: unknown;
  handle?: unknown;
  /** As it was registered; from router 2.3 on. */
  rawPath?: unknown;
  regexp?: unknown;
  keys?: unknown;
  matchers?: unknown;
  /** Mounted at `/`, which matches any path: router 2. */
  slash?: unknown;
  /** The part of the path that the last request matched; before router 2.3. */
  path?: unknown;
  route?: { stack?: unknown; path?: unknown } | undefined;
  /** Only on layers inside a route; undefined if they take any. */
  method?: string | undefined;
}

function isRoute(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const { stack, methods } = value as { stack?: unknown; methods?: unknown };
  return Array.isArray(stack) && typeof methods === 'object' && methods !== null;
}

function isLayer(item: unknown): item is Layer {
  if (typeof item !== 'object' || item === null) return false;
  const { handle, route } = item as Layer;
  return typeof handle === 'function' && (route === undefined || isRoute(route));
}

/** null for a connect application, such as `vite.middlewares`: its stack has other layers, whose `route` is the path of their mount. */
export function stackOf(router: unknown): readonly Layer[] | null {
  if ((typeof router !== 'object' && typeof router !== 'function') || router === null) return null;
  const { stack } = router as { stack?: unknown };
  // All are of one kind, and a router may have thousands.
  return Array.isArray(stack) && (stack.length === 0 || isLayer(stack[0])) ? (stack as Layer[]) : null;
}

/** The router of an application; undefined if Express 4 has not made it. There, reading `router` throws. */
export function routerOf(app: unknown): unknown {
  if (typeof app !== 'function') return undefined;
  if ('lazyrouter' in app || '_router' in app) return (app as { _router?: unknown })._router;
  return (app as { router?: unknown }).router;
}

export function patternText(pattern: unknown): string {
  if (typeof pattern === 'string') return pattern;
  if (pattern instanceof RegExp) return pattern.toString();
  return Array.isArray(pattern) ? pattern.map(patternText).join(', ') : '';
}

/** `*`, `/*path`, `/{*path}`, `(.*)`: a route for all that nothing else answers, or a middleware that is registered as a route. */
export const CATCH_ALL = /^\/?(?:\*\w*|\{\/?\*\w+\}|\(?\.\*\)?|\/\^?\.\*\$?\/)$/;

/** Express 4's expressions for a parameter or a star, and for the end of a path. The slash of a parameter is before its group up to 4.19. */
const KEY = /(\\[/.])?\(\?:(\\[/.])?\(\[\^\\?\/(?:\\\.)?\]\+\?\)\)(\??)|\(\.\*\)/g;
const END = /\\\/\?(?:\(\?=\\\/\|\$\)|\$)$/;
const PLAIN = /^[\w\-.~%:@!,;=&'/*?]*$/;

const paths = new WeakMap<RegExp, string | string[]>();

/** Takes the names that it uses from the front of `names`; null if it can't be derived. */
function pathOfSource(source: string, names: string[]): string | null {
  if (!source.startsWith('^') || !END.test(source)) return null;
  const path = source
    .slice(1)
    .replace(END, '')
    .replace(KEY, (found: string, before?: string, inside?: string, optional?: string) => {
      const name = names.shift() ?? '';
      return found === '(.*)' ? '*' : `${before ?? ''}${inside ?? ''}:${name}${optional ?? ''}`;
    })
    .replace(/\\(.)/g, '$1');
  return PLAIN.test(path) ? path || '/' : null;
}

/** The path, or list of paths, from which Express 4 compiled a regular expression; if it can't be derived, that expression. */
export function pathOfRegexp(regexp: RegExp, keys: unknown): string | string[] {
  const known = paths.get(regexp);
  if (known !== undefined) return known;
  const names = Array.isArray(keys) ? keys.map((key) => String((key as { name?: unknown }).name)) : [];
  const found = regexp.source.split(/\|(?=\^)/).map((source) => pathOfSource(source, names));
  const derived = found.filter((path) => path !== null);
  const isWhole = derived.length === found.length && names.length === 0;
  const [only = '', ...others] = derived;
  const made = !isWhole ? regexp.toString() : others.length === 0 ? only : derived;
  paths.set(regexp, made);
  return made;
}

const SPECIAL = /[*?+(){}[\]\\]/;

function segmentsOf(path: string): string[] {
  return path.split('/').filter((part) => part !== '');
}

/** Whether a pattern is that of a path, or of its end, as far as its segments show. */
function mayMatch(pattern: unknown, path: string, isEnd: boolean): boolean {
  if (pattern instanceof RegExp)
    return new RegExp(pattern.source, pattern.flags.replace(/[gy]/g, '')).test(path);
  if (typeof pattern !== 'string') return false;
  if (SPECIAL.test(pattern)) return true;
  const wanted = segmentsOf(pattern);
  const given = isEnd ? segmentsOf(path).slice(-wanted.length) : segmentsOf(path);
  if (given.length !== wanted.length) return false;
  return wanted.every(
    (part, index) => part.includes(':') || part.toLowerCase() === given[index]?.toLowerCase(),
  );
}

/** The one of several patterns that matched a path, or its end, if the router does not report it. */
export function matchedAmong(patterns: readonly unknown[], path: string, { isEnd = false } = {}): unknown {
  const all: unknown[] = patterns.flat(Infinity);
  return all.find((pattern) => mayMatch(pattern, path, isEnd)) ?? all;
}

export interface LayerMatch {
  taken: string;
  pattern: unknown;
}

/** Express 4 decodes the parameters while it matches. */
function matchRegexp({ regexp, keys, route }: Layer, path: string): LayerMatch | null {
  const { fast_slash: isAny, fast_star: isStar } = regexp as { fast_slash?: boolean; fast_star?: boolean };
  const found = isAny === true ? [''] : isStar === true ? [path, path] : (regexp as RegExp).exec(path);
  if (found === null) return null;
  for (const value of found.slice(1)) if (typeof value === 'string') decodeURIComponent(value);
  const given = route?.path ?? pathOfRegexp(regexp as RegExp, keys);
  const taken = found[0] ?? '';
  return {
    taken,
    pattern: Array.isArray(given) ? matchedAmong(given, route === undefined ? taken : path) : given,
  };
}

type Matcher = (path: string) => false | { path: string };

/** Matches without side effects; throws what the layer would, such as for an invalid percent-encoding. */
export function matchLayer(layer: Layer, path: string): LayerMatch | null {
  const { rawPath } = layer;
  if (layer.regexp instanceof RegExp) return matchRegexp(layer, path);
  if (layer.slash === true) return { taken: '', pattern: rawPath };
  if (!Array.isArray(layer.matchers)) return null;
  for (const [index, matcher] of (layer.matchers as Matcher[]).entries()) {
    const match = matcher(path);
    if (match !== false)
      return { taken: match.path, pattern: Array.isArray(rawPath) ? (rawPath as unknown[])[index] : rawPath };
  }
  return null;
}
