/**
 * The ordered list of finding rules. A rule turns what panels keep into sentences with a number and a place; it runs before
 * masking, and its sentences are masked with the rest of the profile. Helpers of several rules are in `shared/`.
 */
import type { FindingRule } from '../profiler/finding-rule.ts';
import { answeredTwice } from './answered-twice.ts';
import { bodyNotParsed } from './body-not-parsed.ts';
import { cacheNPlusOne } from './cache-n-plus-one.ts';
import { cachingCannotWork } from './caching-cannot-work.ts';
import { clientLeft } from './client-left.ts';
import { cutOff } from './cut-off.ts';
import { cookieRejected } from './cookie-rejected.ts';
import { errorAnswered2xx } from './error-answered-2xx.ts';
import { errorThrown } from './error-thrown.ts';
import { eventLoopBlocked } from './event-loop-blocked.ts';
import { failedCall } from './failed-call.ts';
import { failedStatement } from './failed-statement.ts';
import { garbageCollection } from './garbage-collection.ts';
import { headerOverwritten } from './header-overwritten.ts';
import { largeResult } from './large-result.ts';
import { loggedError } from './logged-error.ts';
import { manyCalls } from './many-calls.ts';
import { manyQueries } from './many-queries.ts';
import { middlewareOrder } from './middleware-order.ts';
import { nPlusOne } from './n-plus-one.ts';
import { pendingMigrations } from './pending-migrations.ts';
import { poolWait } from './pool-wait.ts';
import { repeatedCall } from './repeated-call.ts';
import { repeatedStatement } from './repeated-statement.ts';
import { retriedCall } from './retried-call.ts';
import { rootCause } from './root-cause.ts';
import { routeMissed } from './route-missed.ts';
import { sequentialAwaits } from './sequential-awaits.ts';
import { sessionChangedLate } from './session-changed-late.ts';
import { slowCall } from './slow-call.ts';
import { slowStatement } from './slow-statement.ts';
import { slowView } from './slow-view.ts';
import { streamBuffered } from './stream-buffered.ts';
import { templateDoesIo } from './template-does-io.ts';
import { tooManyLogs } from './too-many-logs.ts';
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
    cacheNPlusOne,
    manyCalls,
    repeatedCall,
    retriedCall,
    slowCall,
    failedCall,
    templateDoesIo,
    slowView,
    eventLoopBlocked,
    garbageCollection,
    loggedError,
    tooManyLogs,
    pendingMigrations,
    unknownMigrations,
    errorThrown,
    rootCause,
    unhandledRejection,
    errorAnswered2xx,
    answeredTwice,
    routeMissed,
    middlewareOrder,
    bodyNotParsed,
    uploadCutOff,
    headerOverwritten,
    cachingCannotWork,
    streamBuffered,
    cookieRejected,
    sessionChangedLate,
    workAfterResponse,
    clientLeft,
    cutOff,
  ];
}
