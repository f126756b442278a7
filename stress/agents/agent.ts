/** A coding agent without a model: it asks the MCP tools by a fixed strategy, until an answer has the place of the fault. */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { type Answer, isSlow } from '../insight/fault.ts';
import type { RunningShop } from '../insight/shop.ts';

export interface Search {
  found: boolean;
  /** Names of the tools, in order. */
  calls: string[];
  /** UTF-8 of all results. */
  bytes: number;
}

interface Call {
  tool: string;
  args: Record<string, unknown>;
}

/** What the user complains of. */
interface Complaint {
  answer: Answer;
  /** The same request without the fault. */
  usual: Answer;
}

/** Panels that prove each kind of complaint. */
const PANELS = {
  latest_failure: ['exception', 'logs', 'http_client', 'database'],
  why_404: ['routing', 'request'],
  explain_slow: ['timeline', 'database', 'http_client'],
  list_requests: ['http_client', 'database', 'logs'],
};
type FirstTool = keyof typeof PANELS;

function firstTool({ answer, usual }: Complaint): FirstTool {
  if (answer.status >= 500) return 'latest_failure';
  if (answer.status === 404 || answer.status === 405) return 'why_404';
  if (answer.status === 0 || isSlow(answer, usual)) return 'explain_slow';
  return 'list_requests';
}

/** The first call, then the request's summary, a CPU profile if it offers one, its panels, and the panel of routing. */
function* strategy(complaint: Complaint): Generator<Call, void, string> {
  const [url = ''] = complaint.answer.path.split('?');
  const tool = firstTool(complaint);
  const result = yield { tool, args: { url, ...(tool === 'list_requests' ? { limit: 1 } : {}) } };
  const token = /`([0-9a-f]{6})`/.exec(result)?.[1] ?? complaint.answer.token;
  const summary =
    tool === 'list_requests' || tool === 'why_404' ? yield { tool: 'get_request', args: { token } } : result;
  if (summary.includes('`cpu_profile`')) yield { tool: 'cpu_profile', args: { token } };
  yield { tool: 'get_request', args: { token, panels: PANELS[tool] } };
  yield { tool: 'get_request', args: { token, panels: ['routing'] } };
}

/** Whole places only: `shop.js:1` is not in `shop.js:12`. */
function holds(text: string, place: string): boolean {
  const at = text.indexOf(place);
  return at !== -1 && (!/\d/.test(text[at + place.length] ?? '') || holds(text.slice(at + 1), place));
}

export async function askForPlace(
  { origin, places }: Pick<RunningShop, 'origin' | 'places'>,
  complaint: Complaint,
): Promise<Search> {
  const client = new Client({ name: 'agent', version: '1' });
  await client.connect(new StreamableHTTPClientTransport(new URL(`${origin}/_profiler/mcp`)));
  const search: Search = { found: false, calls: [], bytes: 0 };
  try {
    const calls = strategy(complaint);
    let next = calls.next();
    while (next.done !== true && !search.found) {
      const { tool, args } = next.value;
      const { content } = await client.callTool({ name: tool, arguments: args });
      const text = (content as { text: string }[]).map((part) => part.text).join('\n');
      search.calls.push(tool);
      search.bytes += Buffer.byteLength(text);
      search.found = places.some((place) => holds(text, place));
      next = calls.next(text);
    }
    return search;
  } finally {
    await client.close();
  }
}
