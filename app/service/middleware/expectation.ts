/**
 * 417 for an Expect header other than 100-continue. Node would respond with a status line only, but the `checkExpectation` listener of
 * refuse.ts lets the request through to this middleware.
 */
import type { RequestHandler } from 'express';
import { createError } from '../../errors.ts';

/** Like Node's own test. */
const CONTINUE = /(?:^|\W)100-continue(?:$|\W)/i;

export function createExpectationCheck(): RequestHandler {
  return function expectationCheck(req, _res, next) {
    const { expect } = req.headers;
    if (expect === undefined || req.httpVersion !== '1.1' || CONTINUE.test(expect)) next();
    else next(createError('EXPECTATION_FAILED', [expect]));
  };
}
