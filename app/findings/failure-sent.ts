/** The application responded with a 5xx by itself: nothing was thrown or passed to `next()`, so no exception names the place. */
import type { ExceptionData } from '../panels/exception/data.ts';
import type { KeptRouting } from '../panels/routing/data.ts';
import { fromLayerRow, lastRunning } from '../panels/shared/layer-rows.ts';
import type { KeptRequest } from '../panels/request/data.ts';
import type { FindingRule } from '../profiler/finding-rule.ts';
import { callName, outcomeOf, typeOf } from './shared/calls.ts';
import { lineOf, wasSeen } from './shared/errors.ts';
import { nameOfLayer } from './shared/http.ts';
import { endOf, type Kept } from './shared/kept.ts';
import { isInLibrary, loggedErrorPlace } from './shared/logged.ts';
import { labelOf } from './shared/queries.ts';
import { excerpt } from './shared/wording.ts';

type Given = Partial<Pick<Kept, 'logs' | 'database' | 'http_client'>> & {
  routing: KeptRouting;
  exception?: ExceptionData;
  request?: KeptRequest;
};

/** The last query or call that own code made: what failed is behind it. */
function lastWork(
  database: Kept['database'] | undefined,
  http: Kept['http_client'] | undefined,
): { name: string; caller: string | null } | undefined {
  const query = database?.queries.findLast(({ caller }) => caller !== null && !isInLibrary(caller));
  const call = http?.calls.findLast(({ caller }) => caller !== null && !isInLibrary(caller));
  if (call !== undefined && endOf(call) > (query === undefined ? 0 : endOf(query)))
    return {
      name: `${callName(call)} (${[outcomeOf(call), typeOf(call)].filter((text) => text !== '').join(', ')})`,
      caller: call.caller,
    };
  if (database === undefined || query === undefined) return undefined;
  return { name: labelOf(database, query), caller: query.caller };
}

export const failureSent: FindingRule<Given> = {
  name: 'failure-sent',
  needs: ['routing'],
  labels: ['5xx sent'],
  why: 'The status is a 5xx, and no error was thrown, rejected or passed to `next()`: the code set the status itself, often in a `catch` block.',
  fix: 'Pass the error to `next(error)` or throw it again, so that the error handler and this page get its stack.',
  find({ routing, exception, request, logs, database, http_client: calls }, { status }) {
    if (status === null || status < 500) return [];
    const errors = exception?.errors ?? [];
    if (errors.some(wasSeen)) return [];
    // Their own rules name the place.
    if ((database?.totals.failed ?? 0) > 0 || (calls?.totals.failed ?? 0) > 0) return [];
    const layers = routing.layers.map(fromLayerRow);
    const layer = lastRunning(layers);
    if (layers.length === 0) return [];
    const line = logs?.lines.findLast(({ level }) => level === 'error' || level === 'warn');
    const lineAt = isInLibrary(line?.caller) ? null : line?.caller;
    const sent = errors.find(({ origin }) => origin === 'sent');
    const sentAt = (sent === undefined ? null : lineOf(sent)) ?? loggedErrorPlace(exception);
    const known = sentAt ?? lineAt ?? request?.response?.sentFrom;
    const last = known === null || known === undefined ? lastWork(database, calls) : undefined;
    const place = known ?? last?.caller ?? layer?.source;
    const [error] = sent?.thrown.chain ?? [];
    const what = error === undefined ? '' : `, likely because of ${error.class}: ${excerpt(error.message)}`;
    const isTold = error !== undefined && line?.message.includes(error.message) === true;
    const logged = line === undefined || isTold ? '' : `; logged before: ${excerpt(line.message)}`;
    const after = last === undefined ? '' : `, after ${last.name}`;
    const sentence = `${nameOfLayer(layer)} responded ${status}${what}${after}, and nothing was thrown or passed to next()${logged}`;
    return [{ broke: 'response', severity: 'bad', sentence, anchor: 'match', place }];
  },
};
