/** The parts of a host's Knex that are read: the package's types must work without Knex installed. */
export interface HostKnex {
  readonly client: unknown;
}
