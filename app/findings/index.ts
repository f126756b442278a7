/**
 * The ordered list of finding rules. A rule turns what panels keep into sentences with a number and a place; it runs before
 * masking, and its sentences are masked with the rest of the profile. Helpers of several rules are in `shared/`.
 */
import type { FindingRule } from '../profiler/finding-rule.ts';
import { answeredTwice } from './answered-twice.ts';
import { bodyNotParsed } from './body-not-parsed.ts';
import { bodyRefused } from './body-refused.ts';
import { cacheNPlusOne } from './cache-n-plus-one.ts';
import { cachingCannotWork } from './caching-cannot-work.ts';
import { callNotJson } from './call-not-json.ts';
import { clientLeft } from './client-left.ts';
import { connectionPerRequest } from './connection-per-request.ts';
import { cookieRejected } from './cookie-rejected.ts';
import { cutOff } from './cut-off.ts';
import { errorAnswered2xx } from './error-answered-2xx.ts';
import { errorDropped } from './error-dropped.ts';
import { errorHandlerArguments } from './error-handler-arguments.ts';
import { errorThrown } from './error-thrown.ts';
import { corsRefused } from './cors-refused.ts';
import { etagChanges } from './etag-changes.ts';
import { eventLoopBlocked } from './event-loop-blocked.ts';
import { failedCall } from './failed-call.ts';
import { failedStatement } from './failed-statement.ts';
import { failureSent } from './failure-sent.ts';
import { garbageCollection } from './garbage-collection.ts';
import { headerOverwritten } from './header-overwritten.ts';
import { htmlInstead } from './html-instead.ts';
import { inlineScriptBlocked } from './inline-script-blocked.ts';
import { jsonTwice } from './json-twice.ts';
import { largeResult } from './large-result.ts';
import { lockWait } from './lock-wait.ts';
import { loggedError } from './logged-error.ts';
import { manyCalls } from './many-calls.ts';
import { manyQueries } from './many-queries.ts';
import { middlewareOrder } from './middleware-order.ts';
import { nPlusOne } from './n-plus-one.ts';
import { nextAfterResponse } from './next-after-response.ts';
import { nullComparison } from './null-comparison.ts';
import { outsideTransaction } from './outside-transaction.ts';
import { pendingMigrations } from './pending-migrations.ts';
import { poolWait } from './pool-wait.ts';
import { processEnded } from './process-ended.ts';
import { queryNeverRun } from './query-never-run.ts';
import { redirectFails } from './redirect-fails.ts';
import { repeatedCall } from './repeated-call.ts';
import { repeatedStatement } from './repeated-statement.ts';
import { retriedCall } from './retried-call.ts';
import { rootCause } from './root-cause.ts';
import { routeMissed } from './route-missed.ts';
import { routeShadowed } from './route-shadowed.ts';
import { sequentialAwaits } from './sequential-awaits.ts';
import { sequentialCalls } from './sequential-calls.ts';
import { sessionChangedLate } from './session-changed-late.ts';
import { sessionWithoutCookie } from './session-without-cookie.ts';
import { slowCall } from './slow-call.ts';
import { slowStatement } from './slow-statement.ts';
import { slowView } from './slow-view.ts';
import { streamBuffered } from './stream-buffered.ts';
import { templateDoesIo } from './template-does-io.ts';
import { tooManyLogs } from './too-many-logs.ts';
import { transactionAcrossCall } from './transaction-across-call.ts';
import { unendedTransaction } from './unended-transaction.ts';
import { unescapedInput } from './unescaped-input.ts';
import { unhandledRejection } from './unhandled-rejection.ts';
import { unknownMigrations } from './unknown-migrations.ts';
import { unrecordedWait } from './unrecorded-wait.ts';
import { uploadCutOff } from './upload-cut-off.ts';
import { workAfterResponse } from './work-after-response.ts';
import { writeLoop } from './write-loop.ts';
import { wrongLength } from './wrong-length.ts';

export function createFindingRules(): FindingRule[] {
  return [
    processEnded,
    nPlusOne,
    writeLoop,
    repeatedStatement,
    manyQueries,
    sequentialAwaits,
    slowStatement,
    lockWait,
    largeResult,
    failedStatement,
    nullComparison,
    queryNeverRun,
    poolWait,
    connectionPerRequest,
    unendedTransaction,
    outsideTransaction,
    transactionAcrossCall,
    cacheNPlusOne,
    manyCalls,
    repeatedCall,
    retriedCall,
    slowCall,
    failedCall,
    callNotJson,
    sequentialCalls,
    templateDoesIo,
    slowView,
    eventLoopBlocked,
    garbageCollection,
    unrecordedWait,
    loggedError,
    tooManyLogs,
    pendingMigrations,
    unknownMigrations,
    errorThrown,
    errorHandlerArguments,
    errorDropped,
    failureSent,
    rootCause,
    unhandledRejection,
    errorAnswered2xx,
    answeredTwice,
    nextAfterResponse,
    routeMissed,
    routeShadowed,
    middlewareOrder,
    redirectFails,
    htmlInstead,
    bodyNotParsed,
    bodyRefused,
    uploadCutOff,
    headerOverwritten,
    cachingCannotWork,
    etagChanges,
    streamBuffered,
    wrongLength,
    jsonTwice,
    unescapedInput,
    inlineScriptBlocked,
    corsRefused,
    cookieRejected,
    sessionChangedLate,
    sessionWithoutCookie,
    workAfterResponse,
    clientLeft,
    cutOff,
  ];
}
