/** Migration names as part of a sentence. */
const NAMED = 3;
const LONGEST_NAME = 100;

export function namesOf(names: readonly string[]): string {
  const more = names.length - NAMED;
  const named = names.slice(0, NAMED).map((name) => name.slice(0, LONGEST_NAME));
  return `${named.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}
