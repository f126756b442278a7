/** The MCP server over stdio: as an agent starts it, and message by message. */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { expect } from 'chai';
import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { withBuild } from '../support/build.ts';
import { type Ended, runCli } from '../support/cli.ts';
import { type RecordingHost, startRecordingHost } from '../support/recording-host.ts';
import { until } from '../support/waiting.ts';

const PROFILER_PASSWORD = 'a password of the tests';

async function textOf(client: Client, name: string, args: Record<string, unknown> = {}): Promise<string> {
  const { content } = await client.callTool({ name, arguments: args });
  return (content as { text: string }[]).map(({ text }) => text).join('\n');
}

describe('the MCP server over stdio', () => {
  withBuild();
  let host: RecordingHost;

  before(async () => {
    host = await startRecordingHost({ password: PROFILER_PASSWORD });
  });
  after(() => host.close());

  const started = (): StdioClientTransport =>
    new StdioClientTransport({
      command: process.execPath,
      args: ['dist/app/cli.js', 'mcp'],
      env: { PATH: process.env.PATH ?? '', PROFILER_URL: host.url, PROFILER_PASSWORD },
      stderr: 'pipe',
    });

  it('serves an agent of the revision without a handshake, too', async () => {
    const token = await host.send('/broken');
    const agent = new Client(
      { name: 'test', version: '1' },
      { versionNegotiation: { mode: { pin: '2026-07-28' } } },
    );
    await agent.connect(started());
    try {
      expect((await agent.listTools()).tools).to.have.length.above(5);
      expect(await textOf(agent, 'latest_failure')).to.include(token);
      const { contents } = await agent.readResource({ uri: 'hindsight://findings/n-plus-one' });
      expect(JSON.stringify(contents)).to.include('one statement');
    } finally {
      await agent.close();
    }
  });

  it('offers an agent that starts it what the application offers over HTTP', async () => {
    const token = await host.send('/broken');
    const agent = new Client({ name: 'test', version: '1' });
    const transport = started();
    const strays: Error[] = [];
    agent.onerror = (error) => void strays.push(error);
    await agent.connect(transport);
    const direct = new Client({ name: 'test', version: '1' });
    const authorization = `Basic ${Buffer.from(`me:${PROFILER_PASSWORD}`).toString('base64')}`;
    await direct.connect(
      new StreamableHTTPClientTransport(new URL(`${host.url}/_profiler/mcp`), {
        requestInit: { headers: { authorization } },
      }),
    );
    try {
      const { tools } = await agent.listTools();
      expect(tools).to.deep.equal((await direct.listTools()).tools);
      expect(agent.getInstructions()).to.equal(direct.getInstructions()).and.include('never an instruction');
      const failure = await textOf(agent, 'latest_failure');
      expect(failure)
        .to.include(token)
        .and.match(/recording-host\.ts:\d+/);
      const sent: string[] = [];
      let found: string | null = null;
      void textOf(agent, 'wait_for_next', { url: '/fine', seconds: 50 }).then((text) => (found = text));
      await until(async () => {
        sent.push(await host.send('/fine?soon'));
        return found !== null;
      }, 'the next request');
      expect(sent.filter((one) => found?.includes(one))).to.have.lengthOf(1);
      expect((await agent.listResources()).resources).to.deep.equal((await direct.listResources()).resources);
      const { contents } = await agent.readResource({ uri: 'hindsight://findings/n-plus-one' });
      expect(JSON.stringify(contents)).to.include('one statement');
      const wrong = await agent.callTool({ name: 'get_request', arguments: { token: 'ffffff' } });
      expect(wrong.isError).to.equal(true);
      expect(strays).to.deep.equal([]);
    } finally {
      await agent.close();
      await direct.close();
    }
  });

  describe('message by message', () => {
    const GREETING = {
      protocolVersion: '2025-06-18',
      capabilities: {},
      clientInfo: { name: 'test', version: '1' },
    };

    interface Message {
      id?: number;
      method?: string;
      result?: Record<string, unknown>;
    }

    /** Every line of its output is a message of the protocol. */
    function startServer(env: Record<string, string>) {
      const stdin = new PassThrough();
      const stdout = new PassThrough();
      const messages: Message[] = [];
      let lines = '';
      const arrived = new PassThrough();
      stdout.on('data', (text: Buffer) => {
        lines += text.toString();
        const whole = lines.split('\n');
        lines = whole.pop() ?? '';
        for (const line of whole) messages.push(JSON.parse(line) as Message);
        arrived.emit('message');
      });
      const ended = runCli(['mcp'], env, { stdin, stdout });
      async function next(isWanted: (message: Message) => boolean): Promise<Message> {
        for (;;) {
          const found = messages.find(isWanted);
          if (found !== undefined) return found;
          await once(arrived, 'message');
        }
      }
      let lastId = 0;
      return {
        ask(method: string, params: object = {}): Promise<Message> {
          const id = ++lastId;
          stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
          return next((message) => message.id === id);
        },
        notify(method: string): void {
          stdin.write(`${JSON.stringify({ jsonrpc: '2.0', method })}\n`);
        },
        next,
        end(): Promise<Ended> {
          stdin.end();
          return ended;
        },
      };
    }

    it('starts before the application, and has its tools at once', async () => {
      const { port } = new URL(host.url);
      await host.close();
      const server = startServer({ PROFILER_URL: `http://127.0.0.1:${port}`, PROFILER_PASSWORD });
      expect((await server.ask('initialize', GREETING)).result).to.have.property('serverInfo');
      server.notify('notifications/initialized');
      const { tools } = (await server.ask('tools/list')).result as { tools: { name: string }[] };
      expect(tools.map(({ name }) => name)).to.include.members(['latest_failure', 'verify', 'cpu_profile']);
      const call = await server.ask('tools/call', { name: 'routes', arguments: {} });
      expect(call.result).to.have.property('isError', true);
      expect(JSON.stringify(call)).to.include('can’t be reached: ECONNREFUSED.');
      host = await startRecordingHost({ password: PROFILER_PASSWORD }, Number(port));
      const later = await server.ask('tools/list');
      expect(later.result).to.deep.equal({ ...later.result, tools });
      const answer = await server.ask('tools/call', { name: 'routes', arguments: {} });
      expect(answer.result).to.not.have.property('isError');
      const { code, stderr } = await server.end();
      expect(code).to.equal(0);
      expect(stderr).to.include('can’t be reached');
    });

    it('passes a refusal on as a sentence', async () => {
      const server = startServer({ PROFILER_URL: host.url, PROFILER_PASSWORD: 'wrong' });
      await server.ask('initialize', GREETING);
      server.notify('notifications/initialized');
      const { result } = await server.ask('tools/call', { name: 'routes', arguments: {} });
      expect(JSON.stringify(result)).to.include('refused the password');
      expect((await server.end()).code).to.equal(0);
    });
  });
});
