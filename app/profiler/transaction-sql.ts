/** Statements that begin and end a transaction, or do no work. A text may hold several: the first begins it, the last ends it. */
const BEGINS = /^\s*(?:begin|start\s+transaction)\b/i;
/** Behind it only a comment is allowed: in a text of several statements, the words may stand in a value. */
const COMMITS = /(?:^|;)\s*(?:commit|end)(?:\s+(?:work|transaction))?\s*(?:\/\*[^;]*\*\/\s*)?;?$/i;
const ROLLS_BACK = /(?:^|;)\s*(?:rollback(?!\s+(?:work\s+|transaction\s+)?to\b)|abort\b)[^;]*;?$/i;
const TO_SAVEPOINT = /^\s*rollback\s+(?:work\s+|transaction\s+)?to\b/i;
/** For a second phase, on any connection. */
const PREPARES = /^\s*prepare\s+transaction\b/i;

export function beginsTransaction(sql: string): boolean {
  return BEGINS.test(sql);
}

export function commits(sql: string): boolean {
  return COMMITS.test(sql.trimEnd());
}

/** All of the transaction, not to a savepoint. */
export function rollsBack(sql: string): boolean {
  return ROLLS_BACK.test(sql.trimEnd());
}

export function rollsBackToSavepoint(sql: string): boolean {
  return TO_SAVEPOINT.test(sql);
}

export function endsTransaction(sql: string): boolean {
  return commits(sql) || rollsBack(sql) || PREPARES.test(sql);
}

const CONTROL = /^\s*(?:begin|start\s+transaction|commit|rollback|savepoint|release|end|abort|set|pragma)\b/i;

/** Begin, commit, a setting of the connection (`set time zone`), a question about the schema that an ORM repeats (`pragma`) and the like, which do no work. */
export function isControl(sql: string): boolean {
  return CONTROL.test(sql) && sql.split(';').every((part) => part.trim() === '' || CONTROL.test(part));
}
