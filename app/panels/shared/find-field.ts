/** Longer texts are never looked for; a page would carry them in each of its links. */
const LONGEST_FIND = 200;

/** The text of a page's field "find". */
export function findOf({ find = '' }: Readonly<Record<string, string>>): string {
  return find.slice(0, LONGEST_FIND);
}
