/** One statement instead of a loop of reads that differ in a single value. */

interface Bound {
  bindings: readonly { name: string; value: unknown }[];
}

/** Names of the bindings whose values differ between queries of the same statement. */
export function differingNames(queries: readonly Bound[]): string[] {
  const [first] = queries;
  const names = (first?.bindings ?? [])
    .filter(({ value }, at) =>
      queries.some(({ bindings }) => JSON.stringify(bindings[at]?.value) !== JSON.stringify(value)),
    )
    .map(({ name }) => name);
  return [...new Set(names)].slice(0, 5);
}

/** `where id = $1 limit $2` -> `where id = any($1)`, `where id = ?` -> `where id in (?)`; null for anything less simple. */
export function inOneQuery(sql: string, column: string): string | null {
  const pattern = new RegExp(`(["\`]?${column.replace(/\W/g, '\\$&')}["\`]?\\s*)=(\\s*)(\\$\\d+|\\?)`);
  if (sql.length > 1000 || !pattern.test(sql)) return null;
  return sql
    .replace(pattern, (_all, name: string, space: string, value: string) =>
      value === '?' ? `${name.trimEnd()} in (?)` : `${name}=${space}any(${value})`,
    )
    .replace(/\s+limit\s+(?:\$\d+|\?|1)\s*;?$/i, '');
}
