/**
 * The ordered list of finding rules. A rule turns what panels keep into sentences with a number and a place; rules
 * run when somebody reads a profile. There is a file for each subject; helpers of several are in `shared/`.
 */
import type { FindingRule } from '../profiler/read/finding-rule.ts';
import { aggregateRules } from './aggregates.ts';
import { amountRules } from './amounts.ts';
import { browserRules } from './browser.ts';
import { cacheRules } from './cache.ts';
import { callerRules } from './callers.ts';
import { callFilterIgnored } from './call-filters.ts';
import { callRules } from './calls.ts';
import { clearedEarly } from './cleared-early.ts';
import { connectionRules } from './connections.ts';
import { cookieRules } from './cookies.ts';
import { dateRules } from './dates.ts';
import { derivedTextStale } from './derived.ts';
import { encodingRules } from './encodings.ts';
import { endingRules } from './endings.ts';
import { errorRules } from './errors.ts';
import { zeroReplaced } from './fallbacks.ts';
import { browserFailed } from './front-end.ts';
import { graphqlRules } from './graphql.ts';
import { heldRules } from './held.ts';
import { headerRules } from './headers.ts';
import { jobRules } from './jobs.ts';
import { loopRules } from './loops.ts';
import { lostRules } from './lost.ts';
import { memoryRules } from './memory.ts';
import { missingRules } from './missing.ts';
import { numberRules } from './numbers.ts';
import { pageRules } from './pages.ts';
import { predicateRules } from './predicates.ts';
import { processRules } from './process.ts';
import { queryRules } from './queries.ts';
import { raceRules } from './races.ts';
import { requestRules } from './requests.ts';
import { responseRules } from './responses.ts';
import { retriedCall } from './retries.ts';
import { rightRules } from './rights.ts';
import { sequentialRules } from './sequential.ts';
import { sessionRules } from './sessions.ts';
import { statementRules } from './statements.ts';
import { swallowedRules } from './swallowed.ts';
import { resultsSwapped } from './swapped.ts';
import { timeRules } from './time.ts';
import { transactionRules } from './transactions.ts';
import { valueRules } from './values.ts';
import { visibilityLost } from './visibility.ts';
import { writeRules } from './writes.ts';

export function createFindingRules(): FindingRule[] {
  return [
    ...processRules,
    ...loopRules,
    ...queryRules,
    ...statementRules,
    ...pageRules,
    ...predicateRules,
    ...aggregateRules,
    ...valueRules,
    zeroReplaced,
    ...dateRules,
    ...amountRules,
    ...numberRules,
    ...lostRules,
    ...missingRules,
    ...encodingRules,
    ...transactionRules,
    ...connectionRules,
    ...raceRules,
    ...writeRules,
    derivedTextStale,
    ...jobRules,
    ...cacheRules,
    clearedEarly,
    ...callerRules,
    ...rightRules,
    visibilityLost,
    ...heldRules,
    ...memoryRules,
    retriedCall,
    ...callRules,
    callFilterIgnored,
    resultsSwapped,
    ...graphqlRules,
    ...swallowedRules,
    ...timeRules,
    ...sequentialRules,
    ...errorRules,
    ...requestRules,
    ...responseRules,
    ...endingRules,
    ...headerRules,
    ...cookieRules,
    ...sessionRules,
    ...browserRules,
    browserFailed,
  ];
}
