/** An error handler with the wrong number of parameters: Express takes only functions of four as such, and calls others as middleware. */
import { type Layer, stackOf } from '../profiler/express-routers.ts';

const PARAMETERS = 4;
/** `error, req` at the beginning of a function. */
const ERROR_FIRST =
  /^(?:async\s*)?(?:function\b[^(]*)?\(\s*_?(?:err|error|exception|e)\s*,\s*_?req(?:uest)?\b/;
const START = 200;

/** The first such layer of a router; undefined if there is none. Called for errors that nothing handled, which are rare. */
export function misdeclaredHandler(router: unknown): Layer | undefined {
  return stackOf(router)?.find(({ handle, route }) => {
    if (route !== undefined || typeof handle !== 'function' || handle.length >= PARAMETERS) return false;
    return ERROR_FIRST.test(Function.prototype.toString.call(handle).slice(0, START));
  });
}
