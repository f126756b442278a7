/** Origins of separate front ends, `http://localhost:5173`: checked at start, a wrong one is a sentence that says what to change. */

const FORM = /^https?:\/\/[^/?#@\s*]+$/i;

/** As a browser writes it. Throws a sentence without the name of the setting. */
function checkedOrigin(text: string): string {
  const known = FORM.test(text) && URL.canParse(text) ? new URL(text).origin : null;
  if (known === null)
    throw new Error(
      `holds "${text.slice(0, 100)}"; list origins as the browser shows them, scheme, host and port, such as http://localhost:5173 (no path, no *).`,
    );
  return known;
}

/** `http://localhost:5173, https://app.example.com` -> each once, as browsers write them. */
export function readOrigins(text: string): readonly string[] {
  const given = text.split(/[\s,]+/).filter((part) => part !== '');
  return [...new Set(given.map(checkedOrigin))];
}

/** The option of a host. Throws a TypeError that names it. */
export function checkOrigins(given: readonly string[]): ReadonlySet<string> {
  try {
    return new Set(given.map(checkedOrigin));
  } catch (error) {
    throw new TypeError(`toolbarOrigins ${(error as Error).message}`, { cause: error });
  }
}
