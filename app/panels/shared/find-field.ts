/** Longer texts are not searched for, because each link of the page would contain them. */
const LONGEST_FIND = 200;

/** The text of a page's field "find". */
export function findOf({ find = '' }: Readonly<Record<string, string>>): string {
  return find.slice(0, LONGEST_FIND);
}
