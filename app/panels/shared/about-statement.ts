/** Properties of statements, computed once per text: an application repeats few different ones. */
import { dropOldest } from '../../profiler/drop-oldest.ts';
import { significant, sqlTokens } from './sql-tokens.ts';
import { bindingColumns, labelOf, operationOf, shapeOf, type Operation } from './statements.ts';

export interface StatementFacts {
  shape: string;
  label: string;
  operation: Operation;
  columns: readonly (string | null)[];
  sources: ReadonlyMap<string, string>;
}

const WORD = /^[\w$]+$/;
const MOST_TOKENS = 60;

/**
 * The names that a statement gives to what it selects: `p` of `select password as p`, each with its expression. Masking goes by the name of
 * the column. What it takes for one wrongly is the name of no column.
 */
function sourcesIn(sql: string, system: string | undefined): Map<string, string> {
  const sources = new Map<string, string>();
  /** Of the brackets around: the item that they are in, and all tokens before. */
  const outer: { item: string[]; all: string[] }[] = [];
  let item: string[] = [];
  let all: string[] = [];
  function end(): void {
    const [before = '', name = ''] = item.slice(-2);
    if (item.length > 1 && WORD.test(name) && (WORD.test(before) || before === ')')) {
      const source = item.slice(0, -1);
      // A name from a subselect stands for what that selected.
      const inner = source.flatMap((word) => sources.get(word) ?? []);
      sources.set(name, [...source, ...inner].slice(-MOST_TOKENS).join(' '));
    }
    item = [];
  }
  for (const [kind, given] of significant(sqlTokens(sql, system))) {
    const text = given.replace(/^["`]|["`]$/g, '');
    if (text === '(') {
      outer.push({ item, all });
      [item, all] = [[], []];
    } else if (text === ')') {
      end();
      const around = outer.pop() ?? { item: [], all: [] };
      item = [...around.item, ...all, ')'].slice(-MOST_TOKENS);
      all = [...around.all, ...all].slice(-MOST_TOKENS);
    } else if (text === ',' || (kind === 'k' && text.toLowerCase() !== 'as')) {
      end();
    } else if (text.toLowerCase() !== 'as') {
      item.push(text);
      all.push(text);
    }
  }
  end();
  return sources;
}

const REMEMBERED = 1000;
const known = new Map<string, StatementFacts>();

export function aboutStatement(sql: string, system?: string): StatementFacts {
  const key = `${system ?? ''}\n${sql}`;
  const before = known.get(key);
  if (before !== undefined) return before;
  const facts = {
    shape: shapeOf(sql, system),
    label: labelOf(sql, system),
    operation: operationOf(sql, system),
    columns: bindingColumns(sql, system),
    sources: sourcesIn(sql, system),
  };
  known.set(key, facts);
  dropOldest(known, REMEMBERED);
  return facts;
}

/** The label of a stored statement: `select … from users`, `User.findMany: select … from users`. */
export function labelOfStatement({
  sql,
  system,
  above,
}: {
  sql: string;
  system?: string;
  above?: string;
}): string {
  const { label } = aboutStatement(sql, system);
  return above === undefined ? label : `${above}: ${label}`;
}
