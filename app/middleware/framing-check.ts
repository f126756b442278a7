/**
 * Refuses an empty Transfer-Encoding. Node.js takes it for none, and a proxy in front may not: the two would disagree where the request ends
 * (RFC 9112, section 6.3).
 */
import type { RequestHandler } from 'express';
import { createError } from '../errors.ts';

export function createFramingCheck(): RequestHandler {
  return function framingCheck(req, res, next) {
    if (req.headers['transfer-encoding'] !== '') {
      next();
      return;
    }
    res.setHeader('connection', 'close');
    next(createError('BAD_REQUEST', ['Invalid Transfer-Encoding "".']));
  };
}
