/** Properties of statements, each computed once per text, when it is first asked for. */
import { type ReadStatement, readStatement } from './read-statement.ts';
import {
  bindingColumns,
  bindingFields,
  labelOf,
  operationOf,
  shapeOf,
  significant,
  type Operation,
} from './statements.ts';

class StatementFacts {
  readonly #sql: string;
  readonly #system: string | undefined;
  #shape: string | undefined;
  #label: string | undefined;
  #operation: Operation | undefined;
  #columns: readonly (string | null)[] | undefined;
  #fields: readonly (string | null)[] | undefined;
  #sources: ReadonlyMap<string, string> | undefined;
  #read: ReadStatement | null | undefined;

  constructor(sql: string, system: string | undefined) {
    this.#sql = sql;
    this.#system = system;
  }

  get shape(): string {
    return (this.#shape ??= shapeOf(this.#sql, this.#system));
  }

  get label(): string {
    return (this.#label ??= labelOf(this.#sql, this.#system));
  }

  get operation(): Operation {
    return (this.#operation ??= operationOf(this.#sql, this.#system));
  }

  get columns(): readonly (string | null)[] {
    return (this.#columns ??= bindingColumns(this.#sql, this.#system));
  }

  get fields(): readonly (string | null)[] {
    return (this.#fields ??= bindingFields(this.#sql, this.#system));
  }

  get sources(): ReadonlyMap<string, string> {
    return (this.#sources ??= sourcesIn(this.#sql, this.#system));
  }

  /** That it reads or writes, or the first of them, in lower case. */
  get table(): string | undefined {
    return (this.read?.table ?? this.operation.table)?.toLowerCase();
  }

  get read(): ReadStatement | null {
    if (this.#read === undefined) this.#read = readStatement(this.#sql, this.#system);
    return this.#read;
  }
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
  for (const [kind, given] of significant(sql, system)) {
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

/** By the size of the texts: a request may run 1,000 different statements, each of which is asked for many times. */
const MOST_CHARACTERS = 1_000_000;

interface Known {
  texts: Map<string, StatementFacts>;
  characters: number;
}

/** By database, so that a text is looked up as it is: one that is put together would be hashed each time. */
const bySystem = new Map<string | undefined, Known>();

function knownOf(system: string | undefined): Known {
  const known = bySystem.get(system) ?? { texts: new Map(), characters: 0 };
  bySystem.set(system, known);
  return known;
}

export function aboutStatement(sql: string, system?: string): StatementFacts {
  const known = knownOf(system);
  const before = known.texts.get(sql);
  if (before !== undefined) return before;
  const facts = new StatementFacts(sql, system);
  known.texts.set(sql, facts);
  known.characters += sql.length;
  for (const oldest of known.texts.keys()) {
    if (known.characters <= MOST_CHARACTERS) break;
    known.texts.delete(oldest);
    known.characters -= oldest.length;
  }
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
