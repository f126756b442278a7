/**
 * Goes with Node 20, which has no `navigator`. Without it, pg detects its platform by creating a `Response`, and Node.js loads all of
 * `fetch` for that: 8 MB.
 */

/** Defines the `navigator` that Node.js 21 and later have. Call it before pg is loaded. */
export function provideNavigator(): void {
  if ('navigator' in globalThis) return;
  const [major = ''] = process.versions.node.split('.');
  Object.defineProperty(globalThis, 'navigator', {
    value: { userAgent: `Node.js/${major}` },
    configurable: true,
  });
}
