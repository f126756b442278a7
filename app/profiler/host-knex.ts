/** A Knex of the host, by what is read of it: the package's types hold for hosts that have none installed. */
export interface HostKnex {
  readonly client: unknown;
}
