/** Why the embedded server is not available; the message says what to do. */

export class EmbeddedPostgresError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'EmbeddedPostgresError';
    // The message is enough to fix the cause: stack frames would only hide it.
    this.stack = message;
  }
}

/** The code of a system error such as EACCES; empty for anything else. */
export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
}

/** For a folder that can't be created or written to. */
export function unwritable(folder: string, error: unknown): EmbeddedPostgresError {
  return new EmbeddedPostgresError(
    `The folder ${folder} can't be written to (${codeOf(error) || String(error)}), so that PostgreSQL has no place for its ` +
      'data; set VAR_DIR to a folder that can, or DATABASE_URL to a PostgreSQL of your own.',
    error,
  );
}
