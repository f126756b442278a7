/** The database was used before it was ready. `status`: of the response. */
export class DatabaseUnavailableError extends Error {
  readonly code = 'DATABASE_UNAVAILABLE';
  readonly status = 503;

  constructor(message: string) {
    super(message);
    this.name = 'DatabaseUnavailableError';
  }
}
