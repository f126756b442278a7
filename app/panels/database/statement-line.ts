/** A statement in a line: for rows and cards. */
import { plainName, type SqlToken, sqlTokens } from '../shared/sql-tokens.ts';

/** Characters of a statement in the line of a row. */
const LINE_LENGTH = 240;

/** The statement in a line, without comments and the quotes that Knex puts around every name. */
export function oneLine(sql: string, system: string | undefined): SqlToken[] {
  const tokens: SqlToken[] = [];
  let length = 0;
  for (const [kind, part] of sqlTokens(sql.slice(0, LINE_LENGTH * 4), system)) {
    if (kind === 'c') continue;
    const isSpace = part.trim() === '';
    if (isSpace && (tokens.length === 0 || tokens.at(-1)?.[1] === ' ')) continue;
    if (length > LINE_LENGTH) return [...tokens, ['', '…']];
    const text = isSpace ? ' ' : plainName(part);
    tokens.push([kind, text.length > LINE_LENGTH ? `${text.slice(0, LINE_LENGTH)}…` : text]);
    length += text.length;
  }
  return tokens;
}
