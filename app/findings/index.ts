/**
 * The ordered list of the rules by which findings are made. One line per rule; a rule is one name in four rooms
 * (`app/findings`, `test/findings`, `docs/findings`, and here).
 *
 * In: what panels keep, before it is masked. Out: sentences with a number and a place, masked with the rest of the profile.
 * A rule reads, it never asks: what was not recorded is not found. What they share lies in `shared/`.
 */
import type { FindingRule } from '../profiler/finding.ts';
import { answeredTwice } from './answered-twice.ts';
import { bodyNotParsed } from './body-not-parsed.ts';
import { cachingCannotWork } from './caching-cannot-work.ts';
import { clientLeft } from './client-left.ts';
import { cookieDropped } from './cookie-dropped.ts';
import { errorAnswered2xx } from './error-answered-2xx.ts';
import { errorThrown } from './error-thrown.ts';
import { failedCall } from './failed-call.ts';
import { failedStatement } from './failed-statement.ts';
import { garbageCollection } from './garbage-collection.ts';
import { headerOverwritten } from './header-overwritten.ts';
import { largeResult } from './large-result.ts';
import { layerOrder } from './layer-order.ts';
import { logFlood } from './log-flood.ts';
import { loggedError } from './logged-error.ts';
import { loopHeld } from './loop-held.ts';
import { manyCalls } from './many-calls.ts';
import { manyQueries } from './many-queries.ts';
import { nPlusOne } from './n-plus-one.ts';
import { pendingMigrations } from './pending-migrations.ts';
import { poolWait } from './pool-wait.ts';
import { repeatedCall } from './repeated-call.ts';
import { repeatedStatement } from './repeated-statement.ts';
import { retriedCall } from './retried-call.ts';
import { rootCause } from './root-cause.ts';
import { routeMissed } from './route-missed.ts';
import { sequentialAwaits } from './sequential-awaits.ts';
import { slowCall } from './slow-call.ts';
import { slowStatement } from './slow-statement.ts';
import { slowView } from './slow-view.ts';
import { streamBuffered } from './stream-buffered.ts';
import { templateDoesIo } from './template-does-io.ts';
import { transactionAcrossCall } from './transaction-across-call.ts';
import { unendedTransaction } from './unended-transaction.ts';
import { unhandledRejection } from './unhandled-rejection.ts';
import { unknownMigrations } from './unknown-migrations.ts';
import { uploadCutOff } from './upload-cut-off.ts';
import { workAfterResponse } from './work-after-response.ts';
import { writeLoop } from './write-loop.ts';

export function createFindingRules(): FindingRule[] {
  return [
    nPlusOne,
    writeLoop,
    repeatedStatement,
    manyQueries,
    sequentialAwaits,
    slowStatement,
    largeResult,
    failedStatement,
    poolWait,
    unendedTransaction,
    transactionAcrossCall,
    manyCalls,
    repeatedCall,
    retriedCall,
    slowCall,
    failedCall,
    templateDoesIo,
    slowView,
    loopHeld,
    garbageCollection,
    loggedError,
    logFlood,
    pendingMigrations,
    unknownMigrations,
    errorThrown,
    rootCause,
    unhandledRejection,
    errorAnswered2xx,
    answeredTwice,
    routeMissed,
    layerOrder,
    bodyNotParsed,
    uploadCutOff,
    headerOverwritten,
    cachingCannotWork,
    streamBuffered,
    cookieDropped,
    workAfterResponse,
    clientLeft,
  ];
}
