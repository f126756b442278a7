/** Stored data of the database panel, for rules about what a statement says: the text, its values and the driver's numbers. */
import type { Json } from '../../app/profiler/json.ts';

export interface AskedQuery {
  sql: string;
  system?: string;
  /** `Plant.save` */
  above?: string;
  rows?: number | null;
  bindings?: Readonly<Record<string, Json>> | readonly (readonly [name: string, value: Json])[];
  warnings?: number;
  caller?: string;
  found?: readonly Json[];
  ids?: Readonly<Record<string, number>>;
  alsoChanged?: number;
}

export function keptQueries(...asked: readonly AskedQuery[]) {
  return {
    statements: asked.map(({ sql, system = 'postgresql', above }) => ({
      sql,
      system,
      ...(above === undefined ? {} : { above }),
    })),
    queries: asked.map(
      ({ bindings = [], rows = 1, caller = 'src/a.ts:5', warnings, found, ids, alsoChanged }, statement) => ({
        statement,
        rows,
        caller,
        error: null,
        startMs: statement,
        durationMs: 1,
        ...(warnings === undefined ? {} : { warnings }),
        ...(found === undefined ? {} : { found }),
        ...(ids === undefined ? {} : { ids }),
        ...(alsoChanged === undefined ? {} : { alsoChanged }),
        bindings: (Array.isArray(bindings) ? bindings : Object.entries(bindings)).map(
          ([name, value]: [string, Json]) => ({ name, value }),
        ),
      }),
    ),
  };
}

export interface AskedRequest {
  query?: Readonly<Record<string, Json>>;
  params?: Readonly<Record<string, Json>>;
  user?: Json;
  body?: Json;
  files?: readonly object[];
  sent?: Json;
}

const pairs = (record: Readonly<Record<string, Json>> = {}) =>
  Object.entries(record).map(([name, value]) => ({ name, value }));

export function keptRequest({
  query,
  params,
  user,
  body = null,
  files = [],
  sent = null,
}: AskedRequest = {}) {
  return {
    query: pairs(query),
    routeParams: pairs(params),
    body: { fields: null, parsed: body, files, contentType: 'application/json' },
    sessionAndUser: user === undefined ? null : { user },
    response: { contentType: 'application/json', truncated: false, text: JSON.stringify(sent) },
  };
}
