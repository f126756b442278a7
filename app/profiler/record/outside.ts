/** Runs work in the async context of now: a timer that a request starts for all of them must belong to none, and keep none alive. */
import { AsyncResource } from 'node:async_hooks';

export function runningOutside(): <T>(work: () => T) => T {
  const resource = new AsyncResource('Hindsight');
  // It still runs work, but is no open handle to test runners (`jest --detectOpenHandles`).
  resource.emitDestroy();
  return (work) => resource.runInAsyncScope(work);
}
