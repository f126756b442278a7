/** Refuses a malformed, doubled, missing or untrusted Host before any of the owner's code runs. Needs the origin attached. */
import type { RequestHandler } from 'express';
import { originOf } from '../../middleware/attach-origin.ts';
import { hostErrorOf } from '../../middleware/origin.ts';

export function createHostCheck(): RequestHandler {
  return function hostCheck(req, _res, next) {
    const refused = originOf(req)?.refusedHost ?? null;
    if (refused === null) next();
    else next(hostErrorOf(refused));
  };
}
