/**
 * The connections that the storage works on: a host's Knex (here), or a pool of pg where there is none (pg-pool.ts), which leaves
 * Knex unloaded. Of Knex only raw statements are used: its builder would cost more than the statement.
 */
import type { Knex } from 'knex';
import { type Session, withSession } from './session.ts';

export interface Statements {
  /** As Knex has it: `?` is a value, `??` a name, `\\?` a question mark. Gives the result of `pg`. */
  raw<T = unknown>(sql: string, values?: readonly unknown[]): Promise<T>;
}

export interface Pool extends Statements {
  transaction<T>(work: (trx: Statements) => Promise<T>): Promise<T>;
  /** Lends a connection. */
  session<T>(work: (session: Session) => Promise<T>): Promise<T>;
}

function statementsOf(knex: Knex): Statements {
  return {
    async raw<T>(sql: string, values: readonly unknown[] = []): Promise<T> {
      return (await knex.raw(sql, values as readonly Knex.RawBinding[])) as T;
    },
  };
}

export function poolOfKnex(knex: Knex): Pool {
  return {
    ...statementsOf(knex),
    transaction: (work) => knex.transaction((trx) => work(statementsOf(trx))),
    session: (work) => withSession(knex, work),
  };
}
