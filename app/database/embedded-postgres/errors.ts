/** Why there is no embedded server, as a sentence that says what to do. */

export class EmbeddedPostgresError extends Error {
  /**
   * `missing`: it can't be had here (platform, package not installed), so that memory is the way on.
   * `failed`: it should work and does not; the message says what to change.
   */
  readonly kind: 'missing' | 'failed';

  constructor(kind: 'missing' | 'failed', message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'EmbeddedPostgresError';
    this.kind = kind;
    // A sentence for whoever starts the service: frames would only hide it.
    this.stack = message;
  }
}

/** The code of a system error such as EACCES; empty for anything else. */
export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
}

/** A folder that can't be made or written to -> what to do about it. */
export function unwritable(folder: string, error: unknown): EmbeddedPostgresError {
  const reason = codeOf(error) || String(error);
  return new EmbeddedPostgresError(
    'failed',
    `The folder ${folder} can't be written to (${reason}), so that PostgreSQL has no place for its data; ` +
      'set VAR_DIR to a folder that can, or DATABASE_URL to a PostgreSQL of your own.',
    error,
  );
}
