/** Which release a text means. Of a commit twelve digits are stored (app/config/release.ts). */

const STORED_DIGITS = 12;
const LONG_COMMIT = /^[0-9a-f]{13,64}$/i;
/** Fewer than seven digits may be a word. */
const COMMIT_START = /^[0-9a-f]{7,12}$/;

export function storedRelease(text: string): string {
  return LONG_COMMIT.test(text) ? text.slice(0, STORED_DIGITS).toLowerCase() : text;
}

export function isRelease(release: string | null, wanted: string): boolean {
  return release === wanted || (COMMIT_START.test(wanted) && release?.startsWith(wanted) === true);
}
