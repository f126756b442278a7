/** Code that an error page suggests. */
import type { CodeLine } from '../../view-helpers/code.ts';
import { sourceHelpers } from '../../view-helpers/source.ts';

/** Paths that can be written into code unchanged: no quote, no pattern. */
const PLAIN_PATH = /^\/[\w\-./~]{0,80}$/;
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/** In place of the path. */
const ANY_PATH = "'/'";
const colouredByMethod = new Map<string, readonly CodeLine[]>();

/** Coloured once for each method: that takes longer than the rest of the page's code. */
function colouredRoute(name: string): readonly CodeLine[] {
  const known = colouredByMethod.get(name);
  if (known !== undefined) return known;
  const lines = [`router.${name}(${ANY_PATH}, (req, res) => {`, "  res.send('…');", '});'];
  const coloured = sourceHelpers.excerptLines({ from: 1, lines }, { line: null, column: null });
  colouredByMethod.set(name, coloured);
  return coloured;
}

/** A route for this request, as coloured lines; null if the path can't be written into code safely. */
export function routeSnippet(method: string, path: string): readonly CodeLine[] | null {
  if (!PLAIN_PATH.test(path) || !METHODS.has(method)) return null;
  return colouredRoute(method === 'HEAD' ? 'get' : method.toLowerCase()).map(({ tokens = [], ...line }) => ({
    ...line,
    tokens: tokens.map(([kind, text]) => [kind, text === ANY_PATH ? `'${path}'` : text] as const),
  }));
}

export const welcomeRouter: readonly string[] = [
  "import { Router } from 'express';",
  '',
  "export const home = () => Router().get('/', (req, res) => { res.send('Hello'); });",
];

export const welcomeEntry: readonly string[] = [
  "import { home } from './home.ts';",
  '',
  "export const routes: readonly RouteEntry[] = [{ mount: '/', router: home, parsers: 'after' }];",
];
