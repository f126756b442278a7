/** A statement in a line: for rows and cards. */
import { plainName, type SqlToken, sqlTokens } from '../shared/sql-tokens.ts';

const LINE_LENGTH = 240;

/** Characters of a list of columns that stay if the line would be cut. */
const COLUMNS_LENGTH = 40;

/** A long list of columns says less than the conditions after it. One with placeholders stays, because values are placed by their order. */
function withoutColumns(tokens: readonly SqlToken[]): readonly SqlToken[] {
  const select = tokens.findIndex(([, text]) => text.trim() !== '');
  if (tokens[select]?.[1].toLowerCase() !== 'select') return tokens;
  let depth = 0;
  const from = tokens.findIndex(([, text]) => {
    if (text === '(') depth++;
    if (text === ')') depth--;
    return depth === 0 && text.toLowerCase() === 'from';
  });
  const columns = tokens.slice(select + 1, from);
  if (from === -1 || columns.some(([kind]) => kind === 'd')) return tokens;
  let length = 0;
  const shown = columns.filter(([, text]) => (length += text.length) <= COLUMNS_LENGTH);
  if (shown.length === columns.length) return tokens;
  return [...tokens.slice(0, select + 1), ...shown, ['', '… '], ...tokens.slice(from)];
}

/** The statement in a line, without comments and the quotes that Knex puts around every name. */
export function oneLine(sql: string, system: string | undefined): SqlToken[] {
  const tokens: SqlToken[] = [];
  let length = 0;
  const whole = sqlTokens(sql.slice(0, LINE_LENGTH * 4), system);
  for (const [kind, part] of sql.length > LINE_LENGTH ? withoutColumns(whole) : whole) {
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
