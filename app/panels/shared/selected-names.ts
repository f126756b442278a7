/** The names that a statement gives to what it selects: `p` of `select password as p`. Masking goes by the name of the column. */
import { significant, sqlTokens } from './sql-tokens.ts';

const WORD = /^[\w$]+$/;
const MOST_TOKENS = 60;

/** Other names of columns in a statement, each with its expression. What it takes for one wrongly is the name of no column. */
export function sourcesIn(sql: string, system: string | undefined): Map<string, string> {
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
