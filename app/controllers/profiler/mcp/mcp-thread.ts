/**
 * The official SDK of the Model Context Protocol, in a thread of its own: loading it takes 130 ms, and each message some more, for which no
 * request of the application shall wait. The thread reads messages and writes responses; tools run here. All profilers of the process share it.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { Worker } from 'node:worker_threads';
import { mcpSdkFiles } from '../../../paths.ts';

export interface McpOffer {
  info: { name: string; version: string };
  instructions: string;
  tools: readonly { name: string; inputSchema: object }[];
  resources: readonly { name: string; uri: string; text: string; title: string; mimeType: string }[];
}

export interface McpReply {
  status: number;
  type: string | null;
  body: string;
}

export interface McpMessage {
  text: string;
  headers: Readonly<Record<string, string>>;
  run: (name: string, args: Readonly<Record<string, unknown>>) => Promise<object>;
}

interface Pending extends Pick<McpMessage, 'run'> {
  resolve: (reply: McpReply) => void;
  reject: (error: Error) => void;
}

type FromThread = { message: number } & (
  | { reply: McpReply }
  | { error: string }
  | { call: number; name: string; args: Readonly<Record<string, unknown>> }
);

/** The text of the thread: so it runs from every bundle, and without the application's preloads. */
const THREAD = `
const { parentPort, workerData } = require('node:worker_threads');
const { McpServer, createMcpHandler, fromJsonSchema } = Object.assign({}, ...workerData.map((file) => require(file)));
const MESSAGE = 'x-hindsight-message';
const handlers = new Map();
const running = new Map();
let calls = 0;

function handlerOf({ info, instructions, tools, resources }) {
  const about = tools.map((tool) => ({ ...tool, inputSchema: fromJsonSchema(tool.inputSchema) }));
  // The transport keeps no session: each message gets a server of its own.
  return createMcpHandler(({ requestInfo }) => {
    const message = Number(requestInfo.headers.get(MESSAGE));
    const server = new McpServer(info, { instructions });
    for (const { name, ...tool } of about)
      server.registerTool(name, tool, (args) => new Promise((resolve) => {
        running.set(++calls, resolve);
        parentPort.postMessage({ message, call: calls, name, args });
      }));
    for (const { name, uri, text, ...resource } of resources)
      server.registerResource(name, uri, resource, () => ({ contents: [{ uri, mimeType: resource.mimeType, text }] }));
    return server;
  }).fetch;
}

async function answer({ offer, message, text, headers }) {
  const sent = { method: 'POST', headers: { ...headers, [MESSAGE]: String(message) }, body: '{}' };
  const response = await handlers.get(offer)(new Request('http://hindsight.invalid', sent), { parsedBody: JSON.parse(text) });
  return { status: response.status, type: response.headers.get('content-type'), body: await response.text() };
}

parentPort.on('message', (given) => {
  const { offer, offered, message, call, result } = given;
  if (offered !== undefined) handlers.set(offer, handlerOf(offered));
  else if (call !== undefined) {
    running.get(call)(result);
    running.delete(call);
  } else
    answer(given).then(
      (reply) => parentPort.postMessage({ message, reply }),
      (error) => parentPort.postMessage({ message, error: String(error?.stack ?? error) }),
    );
});
`;

let thread: Worker | null = null;
let count = 0;
const pending = new Map<number, Pending>();

function received(from: Worker, given: FromThread): void {
  const { message } = given;
  const asked = pending.get(message);
  if (asked === undefined) return;
  if ('call' in given) {
    const { call, name, args } = given;
    void asked.run(name, args).then((result) => {
      from.postMessage({ call, result });
    });
    return;
  }
  pending.delete(message);
  if ('reply' in given) asked.resolve(given.reply);
  else asked.reject(new Error(given.error));
}

function start(): Worker {
  const started = new Worker(THREAD, {
    eval: true,
    name: 'hindsight-mcp',
    env: {},
    execArgv: [],
    workerData: mcpSdkFiles(),
    stdout: true,
    stderr: true,
  });
  const over = (error: unknown): void => {
    if (thread !== started) return;
    thread = null;
    for (const { reject } of pending.values())
      reject(new Error('The thread for agents ended.', { cause: error }));
    pending.clear();
  };
  started.on('message', (given: FromThread) => {
    received(started, given);
  });
  started.once('error', over).once('exit', over).unref();
  return started;
}

export function offerMcp(offered: McpOffer): (message: McpMessage) => Promise<McpReply> {
  const offer = ++count;
  let knownTo: Worker | null = null;
  return ({ text, headers, run }) =>
    new Promise((resolve, reject) => {
      const asked = (thread ??= start());
      if (knownTo !== asked) asked.postMessage({ offer, offered });
      knownTo = asked;
      const message = ++count;
      pending.set(message, { run: AsyncLocalStorage.bind(run), resolve, reject });
      asked.postMessage({ offer, message, text, headers });
    });
}
