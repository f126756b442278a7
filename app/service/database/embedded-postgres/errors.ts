/** Why the embedded server is not available; the message says what to do. */
import { codeOf } from '../../../errors.ts';

export class EmbeddedPostgresError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'EmbeddedPostgresError';
    // The message is enough to fix the cause: stack frames would only hide it.
    this.stack = message;
  }
}

/** For a folder that can't be created or written to. */
export function unwritable(folder: string, error: unknown): EmbeddedPostgresError {
  return new EmbeddedPostgresError(
    `The folder ${folder} can't be written to (${codeOf(error) || String(error)}), so that PostgreSQL has no place for its ` +
      'data; set VAR_DIR to a folder that can, or DATABASE_URL to a PostgreSQL of your own.',
    error,
  );
}
