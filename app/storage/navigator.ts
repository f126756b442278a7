/**
 * Node.js 20 has no `navigator`, by which pg tells where it runs; there it makes a `Response` instead, for which Node.js loads its
 * whole `fetch`: 2 MB that live in each thread, 8 in all.
 */

/** Gives this thread the one that Node.js has from 21 on; returns what takes it away again. */
export function provideNavigator(): () => void {
  if ('navigator' in globalThis) return () => undefined;
  const [major = ''] = process.versions.node.split('.');
  Object.defineProperty(globalThis, 'navigator', {
    value: { userAgent: `Node.js/${major}` },
    configurable: true,
  });
  return () => {
    Reflect.deleteProperty(globalThis, 'navigator');
  };
}
