/**
 * 417 for an Expect header other than 100-continue. Node answers that itself, by a bare line, unless the server has a
 * `checkExpectation` listener that lets the request through (refuse.ts): then it is refused here, like any other error.
 */
import type { RequestHandler } from 'express';
import { createError } from '../errors.ts';

/** As Node's own test reads it. */
const CONTINUE = /(?:^|\W)100-continue(?:$|\W)/i;

export function createExpectationCheck(): RequestHandler {
  return function expectationCheck(req, _res, next) {
    const { expect } = req.headers;
    if (expect === undefined || req.httpVersion !== '1.1' || CONTINUE.test(expect)) next();
    else next(createError('EXPECTATION_FAILED', [expect]));
  };
}
