/** Code that an error page suggests. */

/** Paths that can be written into code unchanged: no quote, no pattern. */
const PLAIN_PATH = /^\/[\w\-./~]{0,80}$/;
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/** A route for this request; null if the path can't be written into code safely. */
export function routeSnippet(method: string, path: string): readonly string[] | null {
  if (!PLAIN_PATH.test(path) || !METHODS.has(method)) return null;
  const name = method === 'HEAD' ? 'get' : method.toLowerCase();
  return [`router.${name}('${path}', (req, res) => {`, "  res.send('…');", '});'];
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
