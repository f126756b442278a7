/**
 * Goes with Node.js 20, which has no `navigator`. Without one pg finds out where it runs by making a `Response`, for which Node.js
 * loads all of `fetch`: 8 MB.
 */

/** Gives this thread the one that Node.js has from 21 on, before pg is loaded. */
export function provideNavigator(): void {
  if ('navigator' in globalThis) return;
  const [major = ''] = process.versions.node.split('.');
  Object.defineProperty(globalThis, 'navigator', {
    value: { userAgent: `Node.js/${major}` },
    configurable: true,
  });
}
