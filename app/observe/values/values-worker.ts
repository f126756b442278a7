/**
 * The debugger's side of values.ts, as the text of a worker: it runs from every bundle, and without the application's preloads. While the main
 * thread stands still, this one asks for one call of `read` there, and for going on, both at once: nothing that happens here can make the stop
 * longer.
 */
export const VALUES_WORKER = `
const { Session } = require('node:inspector');
const { parentPort, workerData } = require('node:worker_threads');
const MOST_OBJECTS = 120;
const stoppedMs = new Float64Array(workerData.stopped);
const urls = new Map();
const session = new Session();
let read;
let stoppedAt = 0;

function fail(error) {
  if (error) parentPort.postMessage({ error: String(error.message ?? error) });
}

function disarm() {
  session.post('Debugger.setPauseOnExceptions', { state: 'none' });
}

function callOf({ functionName, functionLocation, location, scopeChain, this: self }, objects) {
  const scopes = scopeChain
    .filter(({ type }) => type !== 'global' && type !== 'script')
    .map(({ type, object }) => [type, objects.push({ objectId: object.objectId }) - 1]);
  const { lineNumber, columnNumber, scriptId } = location;
  if (self?.objectId) scopes.push(['this', objects.push({ objectId: self.objectId }) - 1]);
  const begins = { line: (functionLocation?.lineNumber ?? lineNumber) + 1, column: (functionLocation?.columnNumber ?? columnNumber) + 1 };
  return { name: functionName, url: urls.get(scriptId), line: lineNumber + 1, column: columnNumber + 1, begins, scopes };
}

session.connectToMainThread();
session.on('Debugger.scriptParsed', ({ params }) => urls.set(params.scriptId, params.url));
session.on('Debugger.resumed', () => {
  stoppedMs[0] += performance.now() - stoppedAt;
});
session.on('Debugger.paused', ({ params: { callFrames, data } }) => {
  stoppedAt = performance.now();
  try {
    const objects = [];
    const calls = [];
    for (const frame of callFrames) {
      const url = urls.get(frame.location.scriptId) ?? '';
      if (url !== '' && !url.startsWith('node:') && objects.length < MOST_OBJECTS) calls.push(callOf(frame, objects));
    }
    const thrown = data?.objectId === undefined ? { value: data?.value } : { objectId: data.objectId };
    session.post(
      'Runtime.callFunctionOn',
      {
        objectId: read,
        functionDeclaration: 'function (...given) { return this(...given); }',
        arguments: [{ value: data !== undefined }, thrown, { value: JSON.stringify(calls) }, ...objects],
        returnByValue: true,
        silent: true,
      },
      (error, answer) => {
        if (error || answer.result.value !== true) disarm();
      },
    );
  } finally {
    session.post('Debugger.resume');
  }
});

if (workerData.forgetOptimized) {
  session.post('Profiler.enable');
  session.post('Profiler.startPreciseCoverage', { callCount: false, detailed: false });
  session.post('Profiler.stopPreciseCoverage');
  session.post('Profiler.disable');
}
session.post('Debugger.enable', fail);
session.post('Runtime.evaluate', { expression: workerData.expression }, (error, answer) => {
  fail(error);
  read = answer?.result.objectId;
});
session.post('Debugger.setPauseOnExceptions', { state: 'all' }, (error) => {
  fail(error ?? (read === undefined ? 'the reader was not found' : null));
  parentPort.postMessage('ready');
});
// Keeps this thread alive.
parentPort.on('message', () => undefined);
`;
