/**
 * Settings of a connection that stay when it goes back to its pool (`set_config(…, false)`, `SET app.tenant = …`, `SET @user = …`): the
 * next request that gets the connection works with them, unless it sets its own.
 */
import type { Context } from '../../profiler/record/context.ts';
import { isControl } from '../../profiler/transaction-sql.ts';
import type { LeftSetting } from './query-fact.ts';

const SETS =
  /\bset_config\(\s*'(\w+\.\w+)'\s*,[^)]*,\s*(?:false|'f')\s*\)|^\s*set\s+(?:session\s+)?(\w+\.\w+|@\w+)\s*(?::?=|to\b)/i;
const RESETS = /^\s*(?:discard\s+all|reset\b)/i;
const SHOWS = /^\s*show\b/i;
/** A variable of MySQL reaches statements that don't name it by triggers and procedures only. They read who acts, not a counter (`@rank`). */
const OF_ACTOR =
  /^@\w*(?:user|tenant|actor|author|account|owner|role|team|member|client|customer|compan|org|audit|_by$)/i;
const RUNS_TRIGGERS = /^\s*(?:insert|update|delete|replace|call)\b/i;

interface Left extends LeftSetting {
  context: Context;
  told?: Context;
}

export interface LeftSettings {
  /** What an earlier request left on this connection; null if nothing, or if this request knows. */
  before(
    connection: object,
    context: Context,
    statement: { sql: string; caller: string | null },
  ): LeftSetting | null;
}

export function createLeftSettings(): LeftSettings {
  const left = new WeakMap<object, Left>();
  return {
    before(connection, context, { sql, caller }) {
      const [isSet, called, set] = SETS.exec(sql) ?? [];
      const name = called ?? set ?? '';
      const isHarmless = name.startsWith('@') && !OF_ACTOR.test(name);
      if (isSet !== undefined && caller !== null && !isHarmless)
        left.set(connection, { name, by: context.token, place: caller, context });
      else if (RESETS.test(sql)) left.delete(connection);
      const known = left.get(connection);
      if (known === undefined || known.context === context || known.told === context) return null;
      if (isControl(sql) || SHOWS.test(sql)) return null;
      if (known.name.startsWith('@') && !RUNS_TRIGGERS.test(sql)) return null;
      known.told = context;
      return { name: known.name, by: known.by, place: known.place };
    },
  };
}
