/**
 * `mcp`: an MCP server on standard input and output, by the official SDK. It knows no tool: what an agent asks goes to the MCP address of
 * the application, so that both have the same tools and one set of rules about who may see what.
 */
import type * as Sdk from '@modelcontextprotocol/server';
import type * as Stdio from '@modelcontextprotocol/server/stdio';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { createError } from '../errors.ts';
import { urls } from '../urls.ts';
import { type Client, CommandError, FAILED, UnreachableError } from './client.ts';

export type McpSdk = typeof Sdk & typeof Stdio;

export interface McpOptions {
  sdk: McpSdk;
  client: Client;
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
const RETRY_MS = 2000;
/** A revision without sessions and without headers of its own for each message. */
const ASKED_REVISION = '2025-06-18';

export async function loadMcpSdk(): Promise<McpSdk> {
  try {
    const [server, stdio] = await Promise.all([
      import('@modelcontextprotocol/server'),
      import('@modelcontextprotocol/server/stdio'),
    ]);
    return { ...server, ...stdio };
  } catch {
    throw new CommandError(createError('MCP_NOT_INSTALLED', []).message, FAILED);
  }
}

/** The response is JSON, or the same as the only event of a stream. */
function parseReply(text: string): Reply {
  const data = /^data: (.*)$/m.exec(text)?.[1];
  try {
    return JSON.parse(data ?? text) as Reply;
  } catch {
    throw new CommandError('The application’s response to an MCP message is not MCP.', FAILED);
  }
}

/** Serves until `stdin` ends. */
export async function serveMcp({ sdk, client, stdin, stdout, version, note }: McpOptions): Promise<void> {
  const { McpServer, ProtocolError, serveStdio, StdioServerTransport } = sdk;
  const ended = new AbortController();

  async function ask(method: string, params: object, signal: AbortSignal): Promise<Sdk.Result> {
    const text = await client.post(
      urls.mcp(),
      { jsonrpc: '2.0', id: 1, method, params },
      {
        accept: 'application/json, text/event-stream',
        signal: AbortSignal.any([signal, ended.signal, AbortSignal.timeout(TIMEOUT_MS)]),
      },
    );
    const { result = {}, error } = parseReply(text);
    if (error !== undefined) throw new ProtocolError(error.code, error.message, error.data);
    return result;
  }

  /** An agent that asked for the tools before the application had started is told when it has. */
  async function announceTools(server: Sdk.McpServer): Promise<void> {
    while (!ended.signal.aborted) {
      await sleep(RETRY_MS, undefined, { ref: false });
      try {
        await ask('ping', {}, ended.signal);
      } catch (error) {
        if (error instanceof UnreachableError) continue;
      }
      server.sendToolListChanged();
      return;
    }
  }

  function failed(server: Sdk.McpServer, method: string, error: unknown): Sdk.Result {
    if (!(error instanceof CommandError)) throw error;
    note(error.message);
    if (method === 'tools/call') return { content: [{ type: 'text', text: error.message }], isError: true };
    if (method !== 'tools/list' || !(error instanceof UnreachableError)) throw error;
    void announceTools(server);
    return { tools: [] };
  }

  /** The application says what its tools are for; without it, the agent learns that from each tool. */
  async function instructionsOf(): Promise<string | undefined> {
    const clientInfo = { name: 'express-hindsight', version };
    const greeting = { protocolVersion: ASKED_REVISION, capabilities: {}, clientInfo };
    const result = await ask('initialize', greeting, ended.signal).catch(() => ({}));
    const { instructions } = result as { instructions?: unknown };
    return typeof instructions === 'string' ? instructions : undefined;
  }

  async function createServer(): Promise<Sdk.McpServer> {
    const instructions = await instructionsOf();
    const server = new McpServer(
      { name: 'hindsight', version },
      instructions === undefined ? {} : { instructions },
    );
    // Given to the constructor, they would come with handlers of its own.
    server.server.registerCapabilities({ tools: { listChanged: true }, resources: {} });
    const passOn: typeof server.server.fallbackRequestHandler = async ({ method, params }, { mcpReq }) => {
      // What the newer revisions say there of each message is between the agent and this process.
      const { _meta: _between, ...passedOn } = params ?? {};
      try {
        return await ask(method, passedOn, mcpReq.signal);
      } catch (error) {
        return failed(server, method, error);
      }
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
      note(message);
    },
  });
  await closed;
  ended.abort();
  await connection.close();
}
