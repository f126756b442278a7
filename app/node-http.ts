/**
 * Values of node:http. An `import` of it evaluates all of its getters, and those of its WebSocket client make Node.js 24 load the whole of
 * fetch, which takes several times as long as to load all of ours.
 */
import type http from 'node:http';

export const {
  Agent,
  ClientRequest,
  createServer,
  IncomingMessage,
  OutgoingMessage,
  request,
  ServerResponse,
  STATUS_CODES,
  validateHeaderName,
  validateHeaderValue,
} = process.getBuiltinModule('node:http');

export type IncomingMessage = http.IncomingMessage;
export type ServerResponse = http.ServerResponse;

/** A client of HTTP/1 may write `HTTP/2.0`, too. */
export function isOverHttp2(req: http.IncomingMessage): boolean {
  return req.httpVersionMajor > 1 && 'stream' in req;
}
