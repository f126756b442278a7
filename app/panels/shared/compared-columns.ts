/** Which columns the condition of a query plan compares: an index on them may make it cheaper. */

const COMPARED =
  /(\w+\(\(?"?[a-z_][\w$]*"?\)?(?:::[\w ]+)?\)|[a-z_][\w$]*|"[^"]+")\)?(?:::[\w ]+(?:\([\d,]+\))?(?:\[\])?)?\s(?:=|<|>|<=|>=)\s/gi;

/** Columns that a condition compares; none for alternatives (OR). */
export function comparedColumns(condition: string): string[] {
  if (/\bOR\b/.test(condition)) return [];
  const columns = Array.from(condition.matchAll(COMPARED), ([, column = '']) => column);
  return [...new Set(columns)].slice(0, 3);
}
