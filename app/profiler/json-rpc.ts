/** JSON-RPC 2.0 posts every call to one route (MCP servers do, too): the method tells them apart. https://www.jsonrpc.org/specification */
import type { BodyFact } from './facts.ts';

interface Call {
  jsonrpc?: unknown;
  method?: unknown;
  params?: { name?: unknown } | null;
}

/** Others would make a route of whatever a client sends. */
const NAME = /^[\w.:/$-]{1,100}$/;
/** Methods of MCP that call something by its name. */
const BY_NAME = new Set(['tools/call', 'prompts/get']);

/** As parsed by the application; else its first bytes, if they are all. */
function callOf({ parsed, preview, truncated, contentType }: BodyFact): Call | null {
  if (typeof parsed === 'object' && parsed !== null) return parsed;
  if (parsed !== undefined || truncated || contentType?.includes('json') !== true) return null;
  return preview.includes('"jsonrpc"') ? (JSON.parse(preview.toString()) as Call | null) : null;
}

/** `orders.find`, `tools/call search`; null if the body is no single call of JSON-RPC 2.0. Never throws. */
export function jsonRpcLabel(body: BodyFact | undefined): string | null {
  try {
    const call = body === undefined ? null : callOf(body);
    if (call?.jsonrpc !== '2.0' || typeof call.method !== 'string' || !NAME.test(call.method)) return null;
    const name = BY_NAME.has(call.method) ? call.params?.name : undefined;
    return typeof name === 'string' && NAME.test(name) ? `${call.method} ${name}` : call.method;
  } catch {
    return null;
  }
}
