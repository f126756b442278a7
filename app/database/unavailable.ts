/** The database was asked for before it ever answered. `status` is that of the answer. */
export class DatabaseUnavailableError extends Error {
  readonly code = 'DATABASE_UNAVAILABLE';
  readonly status = 503;

  constructor(message: string) {
    super(message);
    this.name = 'DatabaseUnavailableError';
  }
}
