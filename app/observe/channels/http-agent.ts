/**
 * Goes with Node 20, and 22 before 22.12, which announce a call of node:http only when it has a socket: its agent is asked for one while
 * the caller is on the stack. `Agent` -> channel `express-hindsight:http:asked`.
 */
import { channel } from 'node:diagnostics_channel';
import { wrapCalls } from './wrap-method.ts';
import { Agent } from '../../node-http.ts';

export const AGENT_ASKED = 'express-hindsight:http:asked';

const asked = channel(AGENT_ASKED);

/** Whether Node.js has the channel `http.client.request.created`. */
function announces(version = process.versions.node): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major > 23 || (major === 23 && minor >= 2) || (major === 22 && minor >= 12);
}

/** Returns what undoes it; null if nothing was wrapped. */
export function publishAgent(): (() => void) | null {
  if (announces()) return null;
  return wrapCalls(Agent.prototype, 'addRequest', (call, _agent, [request]) => {
    asked.publish({ request });
    return call();
  });
}
