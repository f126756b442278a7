/**
 * Requests of node:http that are destroyed are published at once: their error comes when the socket has closed, and doesn't say who did it.
 * The rest goes with Node 20, and 22 before 22.17, which publish less than later versions. node:http announces a call there only when it has
 * a socket: its agent is asked for one while the caller is on the stack. The class of a session of node:http2 is not exported: it is read
 * from the first session that is opened, and earlier sessions follow.
 */
import { channel } from 'node:diagnostics_channel';
import type { ClientHttp2Session, ClientHttp2Stream } from 'node:http2';
import { syncBuiltinESMExports } from 'node:module';
import { Agent, ClientRequest } from '../../node-http.ts';
import type { LibraryPatch } from '../libraries.ts';
import { wrapCalls } from './wrap-method.ts';

export const AGENT_ASKED = 'express-hindsight:http:asked';
export const REQUEST_DESTROYED = 'express-hindsight:http:destroyed';

const asked = channel(AGENT_ASKED);
const destroyed = channel(REQUEST_DESTROYED);
const created = channel('http2.client.stream.created');
const answered = channel('http2.client.stream.finish');
const failed = channel('http2.client.stream.error');
const closed = channel('http2.client.stream.close');

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
/** It has the channel `http.client.request.created`. */
const announcesHttp = major > 23 || (major === 23 && minor >= 2) || (major === 22 && minor >= 12);
const announcesHttp2 = major > 24 || (major === 24 && minor >= 2) || (major === 22 && minor >= 17);

/** Returns what undoes it; null if nothing was wrapped. */
export function publishAgent(): (() => void) | null {
  if (announcesHttp) return null;
  return wrapCalls(Agent.prototype, 'addRequest', (call, _agent, [request]) => {
    asked.publish({ request });
    return call();
  });
}

export function publishDestroyed(): (() => void) | null {
  return wrapCalls(ClientRequest.prototype, 'destroy', (call, request, [error]) => {
    destroyed.publish({ request, error });
    return call();
  });
}

function publish(stream: ClientHttp2Stream): void {
  created.publish({ stream, headers: stream.sentHeaders });
  stream.once('response', (headers) => answered.publish({ stream, headers }));
  stream.once('close', () => {
    // A listener for `error` would keep it from ending the process.
    if (stream.errored !== null) failed.publish({ stream, error: stream.errored });
    closed.publish({ stream });
  });
}

const http2Patch: LibraryPatch = {
  name: 'node:http2',
  patch(exports) {
    let restoreRequest: (() => void) | null = null;
    const restoreConnect = wrapCalls(exports, 'connect', (connect) => {
      const session = connect() as ClientHttp2Session;
      restoreRequest ??= wrapCalls(Object.getPrototypeOf(session), 'request', (request) => {
        const stream = request() as ClientHttp2Stream;
        if (created.hasSubscribers) publish(stream);
        return stream;
      });
      return session;
    });
    if (restoreConnect === null) return null;
    // What ES modules imported by name follows.
    syncBuiltinESMExports();
    return () => {
      restoreRequest?.();
      restoreConnect();
      syncBuiltinESMExports();
    };
  },
};

export const http2Patches: readonly LibraryPatch[] = announcesHttp2 ? [] : [http2Patch];
