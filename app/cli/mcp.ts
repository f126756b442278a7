/**
 * `mcp`: an MCP server on standard input and output, by the official SDK. It knows no tool: what an agent asks goes to the MCP address of
 * the application, or of its stored profiles, so that all have the same tools and one set of rules about who may see what.
 */
import type * as Sdk from '@modelcontextprotocol/server';
import type { Readable, Writable } from 'node:stream';
import { requireMcpSdk } from '../paths.ts';
import { urls } from '../urls.ts';
import { type Client, CommandError, FAILED } from './client.ts';
import type { Source } from './source.ts';

export interface McpOptions {
  source: Source;
  stdin: Readable;
  /** Carries the protocol and nothing else. */
  stdout: Writable;
  version: string;
  note: (sentence: string) => void;
}

interface Reply {
  result?: Sdk.Result;
  error?: { code: number; message: string; data?: unknown };
}

/** Longer than the longest wait of a tool. */
const TIMEOUT_MS = 120_000;
/** A revision without sessions and without headers of its own for each message. */
const ASKED_REVISION = '2025-06-18';

/** The response is JSON, or the same as the only event of a stream. */
function parseReply(text: string): Reply {
  const data = /^data: (.*)$/m.exec(text)?.[1];
  try {
    return JSON.parse(data ?? text) as Reply;
  } catch {
    throw new CommandError('The application’s response to an MCP message is not MCP.', FAILED);
  }
}

async function askMcp(client: Client, method: string, params: object, signal?: AbortSignal): Promise<Reply> {
  const timeout = AbortSignal.timeout(TIMEOUT_MS);
  const text = await client.post(
    urls.mcp(),
    { jsonrpc: '2.0', id: 1, method, params },
    {
      accept: 'application/json, text/event-stream',
      signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
    },
  );
  return parseReply(text);
}

/** What a tool returns, for the command line. */
export async function callTool(
  client: Client,
  name: string,
  args: object,
): Promise<{ text: string; isError: boolean }> {
  const { result, error } = await askMcp(client, 'tools/call', { name, arguments: args });
  const { content = [], isError } = (result ?? {}) as { content?: { text: string }[]; isError?: boolean };
  const text = error?.message ?? content.map((part) => part.text).join('\n');
  return { text, isError: error !== undefined || isError === true };
}

const SENDING = /^(?:verify|cpu_profile|values)$/;

export async function serveMcp({ source, stdin, stdout, version, note }: McpOptions): Promise<void> {
  const { McpServer, ProtocolError, serveStdio, StdioServerTransport } = requireMcpSdk();
  const ended = new AbortController();
  /** What fails because the agent has gone is no news. */
  const say = (sentence: string): void => {
    if (!ended.signal.aborted) note(sentence);
  };

  async function send(
    client: Client,
    method: string,
    params: object,
    signal: AbortSignal,
  ): Promise<Sdk.Result> {
    const both = AbortSignal.any([signal, ended.signal]);
    const { result = {}, error } = await askMcp(client, method, params, both);
    if (error !== undefined) throw new ProtocolError(error.code, error.message, error.data);
    return result;
  }

  /** Whoever can answer: which tools there are is known without an application. */
  async function ask(method: string, params: object, signal: AbortSignal): Promise<Sdk.Result> {
    try {
      const sends = method === 'tools/call' && SENDING.test(String((params as { name?: unknown }).name));
      return await send(await source.client(sends), method, params, signal);
    } catch (error) {
      if (!(error instanceof CommandError)) throw error;
      say(error.message);
      if (method === 'tools/call') return { content: [{ type: 'text', text: error.message }], isError: true };
      return send(await source.offline(), method, params, signal);
    }
  }

  /** The application says what its tools are for. */
  async function instructionsOf(): Promise<string> {
    const clientInfo = { name: 'express-hindsight', version };
    const greeting = { protocolVersion: ASKED_REVISION, capabilities: {}, clientInfo };
    const { instructions } = await send(await source.offline(), 'initialize', greeting, ended.signal);
    return String(instructions);
  }

  async function createServer(): Promise<Sdk.McpServer> {
    const server = new McpServer({ name: 'hindsight', version }, { instructions: await instructionsOf() });
    // Given to the constructor, they would come with handlers of its own.
    server.server.registerCapabilities({ tools: {}, resources: {} });
    const passOn: typeof server.server.fallbackRequestHandler = ({ method, params }, { mcpReq }) => {
      // What the newer revisions say there of each message is between the agent and this process.
      const { _meta: _between, ...passedOn } = params ?? {};
      return ask(method, passedOn, mcpReq.signal);
    };
    server.server.fallbackRequestHandler = passOn;
    return server;
  }

  const closed = new Promise<void>((resolve) => {
    stdin.once('end', resolve).once('close', resolve);
  });
  const connection = serveStdio(createServer, {
    transport: new StdioServerTransport(stdin, stdout),
    onerror: ({ message }) => {
      say(message);
    },
  });
  await closed;
  ended.abort();
  await connection.close();
}
