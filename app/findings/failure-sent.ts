/** The application responded with a 5xx by itself: nothing was thrown or passed to `next()`, so no exception names the place. */
import type { ExceptionData } from '../panels/exception/data.ts';
import type { KeptRouting } from '../panels/routing/data.ts';
import { fromLayerRow, lastRunning } from '../panels/shared/layer-rows.ts';
import type { KeptRequest } from '../panels/request/data.ts';
import type { FindingRule } from '../profiler/finding-rule.ts';
import { lineOf, wasSeen } from './shared/errors.ts';
import { nameOfLayer } from './shared/http.ts';
import type { Kept } from './shared/kept.ts';
import { isInLibrary, loggedErrorPlace } from './shared/logged.ts';
import { excerpt } from './shared/wording.ts';

type Given = Partial<Pick<Kept, 'logs' | 'database' | 'http_client'>> & {
  routing: KeptRouting;
  exception?: ExceptionData;
  request?: KeptRequest;
};

export const failureSent: FindingRule<Given> = {
  name: 'failure-sent',
  needs: ['routing'],
  labels: ['5xx sent'],
  why: 'The status is a 5xx, and no error was thrown, rejected or passed to `next()`: the code set the status itself, often in a `catch` block.',
  fix: 'Pass the error to `next(error)` or throw it again, so that the error handler and this page get its stack. To go on, call `next()` without a value: `.then(next)` passes the result on as an error.',
  find({ routing, exception, request, logs, database, http_client: calls }, { status }) {
    if (status === null || status < 500) return [];
    const errors = exception?.errors ?? [];
    if (errors.some(wasSeen)) return [];
    // Their own rules name the place.
    if ((database?.totals.failed ?? 0) > 0 || (calls?.totals.failed ?? 0) > 0) return [];
    const layers = routing.layers.map(fromLayerRow);
    const layer = lastRunning(layers);
    if (layer === undefined) return [];
    const passing = layer.kind === 'error' ? layers.findLast(({ kind }) => kind !== 'error') : undefined;
    const line = logs?.lines.findLast(({ level }) => level === 'error' || level === 'warn');
    const lineAt = isInLibrary(line?.caller) ? null : line?.caller;
    const sent = errors.find(({ origin }) => origin === 'sent');
    const sentAt = (sent === undefined ? null : lineOf(sent)) ?? loggedErrorPlace(exception);
    const place = passing?.source ?? sentAt ?? lineAt ?? request?.response?.sentFrom ?? layer.source;
    const logged = line === undefined ? '' : `; logged before: ${excerpt(line.message)}`;
    const cause =
      passing === undefined
        ? 'and nothing was thrown or passed to next()'
        : `because ${nameOfLayer(passing)} passed next() a value that is not an Error, which Express takes for one`;
    const [error] = sent?.thrown.chain ?? [];
    const what = error === undefined ? '' : ` with the stack of ${error.class}: ${excerpt(error.message)}`;
    const sentence = `${nameOfLayer(layer)} responded ${status}${what}, ${cause}${logged}`;
    return [{ broke: 'response', severity: 'bad', sentence, anchor: 'match', place }];
  },
};
