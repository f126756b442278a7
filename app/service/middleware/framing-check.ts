/**
 * Two things about where a request ends that Node.js lets pass. It takes an empty Transfer-Encoding for none, and a proxy in front may not: the
 * two would disagree where the request ends (RFC 9112, section 6.3). And once a request asks for an upgrade, its parser keeps errors in the body
 * to itself (`Parser::Execute` in node_http_parser.cc): a malformed one would never end.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Request, RequestHandler, Response } from 'express';
import { createError } from '../../errors.ts';
import { announcedBytes } from '../../middleware/body-tap.ts';
import { cutOff, defaultLingerLimits, type RespondWithError } from '../../middleware/cut-off.ts';

export interface FramingCheckOptions {
  respond: RespondWithError;
  /** Milliseconds without a byte after which the body of a request for an upgrade is taken for malformed. */
  idleMs?: number;
}

const IDLE_MS = 5000;
/** Like Node's own test. */
const CONTINUE = /(?:^|\W)100-continue(?:$|\W)/i;

export function createFramingCheck({ respond, idleMs = IDLE_MS }: FramingCheckOptions): RequestHandler {
  function watchBody(req: Request, res: Response): void {
    let received = req.socket.bytesRead;
    const look = AsyncLocalStorage.bind(() => {
      const { bytesRead } = req.socket;
      const isOver = req.complete || res.headersSent;
      if (!isOver && bytesRead !== received) {
        received = bytesRead;
        return;
      }
      clearInterval(timer);
      if (isOver) return;
      const error = createError('BAD_REQUEST', ['The body is malformed or incomplete.']);
      cutOff({ error, req, res, respond, linger: defaultLingerLimits });
    });
    const timer = setInterval(look, idleMs);
    res.once('close', () => {
      clearInterval(timer);
    });
  }

  return function framingCheck(req, res, next) {
    if (req.headers['transfer-encoding'] === '') {
      res.setHeader('connection', 'close');
      next(createError('BAD_REQUEST', ['Invalid Transfer-Encoding "".']));
      return;
    }
    if (req.headers.upgrade !== undefined && announcedBytes(req) !== 0) watchBody(req, res);
    next();
  };
}

/**
 * 417 for an Expect header other than 100-continue. Node would respond with a status line only, but the `checkExpectation` listener of
 * refuse.ts lets the request through to this middleware.
 */
export function createExpectationCheck(): RequestHandler {
  return function expectationCheck(req, _res, next) {
    const { expect } = req.headers;
    if (expect === undefined || req.httpVersion !== '1.1' || CONTINUE.test(expect)) next();
    else next(createError('EXPECTATION_FAILED', [expect]));
  };
}
