/** The statements of docs/scaling.md that lay the profiler's tables out for Citus, by layout, for another schema. */
import { readFileSync } from 'node:fs';

const DOCUMENTED = 'shop_example_com';

function documented(holds: string, schema: string): string[] {
  const blocks = Array.from(
    readFileSync('docs/scaling.md', 'utf8').matchAll(/```sql\n([\s\S]*?)```/g),
    ([, sql]) => sql ?? '',
  );
  const block = blocks.find((sql) => sql.includes(holds));
  if (block === undefined) throw new Error(`docs/scaling.md has no statement with ${holds}.`);
  return block
    .replaceAll(DOCUMENTED, schema)
    .split(';')
    .map((sql) => sql.trim())
    .filter((sql) => sql !== '');
}

export const citusLayouts = {
  coordinator: () => [],
  schema: (schema: string) => documented('citus_schema_distribute', schema),
  rows: (schema: string) => documented('create_distributed_table', schema),
} satisfies Record<string, (schema: string) => string[]>;
