import childProcess, { execFile, execSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { createRedactor } from '../../app/profiler/masking/redact.ts';
import { createCallerFinder } from '../../app/observe/stacks/caller.ts';
import { childProcessPatch } from '../../app/observe/channels/child-process.ts';
import { observeProcesses } from '../../app/observe/processes.ts';
import { Context, ContextTracker } from '../../app/profiler/record/context.ts';

const HERE = /^test\/observe\/processes\.test\.ts:\d+$/;
const node = process.execPath;

describe('child processes as they are observed', () => {
  const tracker = new ContextTracker();
  const original = childProcess.spawnSync;
  let undo: (() => void) | null;
  let observation: { close(): void };

  before(() => {
    undo = childProcessPatch.patch(childProcess);
    observation = observeProcesses({ tracker, findCaller: createCallerFinder() });
  });
  after(() => {
    observation.close();
    undo?.();
    expect(childProcess.spawnSync).to.equal(original);
  });

  async function observed(work: () => unknown) {
    const context = new Context({ token: '000001', kind: 'request' });
    await tracker.run(context, async () => {
      await work();
    });
    return context.all('process');
  }

  it('records program, arguments, exit code, time and line', async () => {
    const facts = await observed(async () => {
      const [code] = (await once(spawn(node, ['-e', 'process.exit(3)']), 'close')) as [number];
      expect(code).to.equal(3);
      await promisify(execFile)(node, ['--version']);
    });
    expect(
      facts.map(({ command, args, exitCode }) => [command, args.map(({ value }) => value), exitCode]),
    ).to.deep.equal([
      [node, ['-e', 'process.exit(3)'], 3],
      [node, ['--version'], 0],
    ]);
    expect(facts[0]?.args[1]?.name).to.equal('-e');
    for (const fact of facts) {
      expect(fact).to.include({ isSync: false, error: null, signal: null });
      expect(fact.durationMs).to.be.above(0);
      expect(fact.caller).to.match(HERE);
    }
  });

  it('records synchronous ones, imported by name too, and returns what they return', async () => {
    const facts = await observed(() => {
      expect(execSync('echo hello').toString()).to.equal('hello\n');
      expect(spawnSync(node, ['-e', 'process.exit(4)']).status).to.equal(4);
      expect(() => execSync('exit 5', { stdio: 'ignore' })).to.throw(/exit 5/);
    });
    expect(facts.map(({ command, exitCode, isSync }) => [command, exitCode, isSync])).to.deep.equal([
      ['echo hello', 0, true],
      [node, 4, true],
      ['exit 5', 5, true],
    ]);
    for (const { caller } of facts) expect(caller).to.match(HERE);
  });

  it('gives a password among the arguments a name to mask it by', async () => {
    const facts = await observed(() => {
      spawnSync('/no/such/mysql', ['-u', 'bob', '-pS3cretS3cret', 'shop']);
      spawnSync('/no/such/curl', ['-u', 'bob:S3cretS3cret', 'http://127.0.0.1:1']);
      spawnSync('/no/such/docker', ['run', '-p', '80:80', 'web']);
    });
    const named = facts.map(({ args }) => args.filter(({ name }) => name === 'password'));
    const secret = [{ name: 'password', value: 'S3cretS3cret' }];
    expect(named).to.deep.equal([secret, secret, []]);
    expect(facts[0]?.args.map(({ value }) => value)).to.deep.equal([
      '-u',
      'bob',
      '-p',
      'S3cretS3cret',
      'shop',
    ]);
    const kept = createRedactor().tree({ facts, message: 'it was S3cretS3cret' }).value;
    expect(JSON.stringify(kept)).to.not.contain('S3cretS3cret');
  });

  it('records what could not be started, and leaves the error to the application', async () => {
    const facts = await observed(async () => {
      const child = spawn('/no/such/program', []);
      const [error] = (await once(child, 'error')) as [Error];
      expect(error.message).to.contain('ENOENT');
      expect(spawnSync('/no/such/program').error?.message).to.contain('ENOENT');
    });
    expect(facts.map(({ command }) => command)).to.deep.equal(['/no/such/program', '/no/such/program']);
    for (const fact of facts) {
      expect(fact.error).to.contain('ENOENT');
      expect(fact).to.include({ exitCode: null }).and.have.property('durationMs').that.is.a('number');
    }
  });

  it('records what could not be started if that error ends up as an uncaught exception', async () => {
    const facts = await observed(async () => {
      const thrown = new Promise((resolve) => process.prependOnceListener('uncaughtException', resolve));
      const listeners = process.listeners('uncaughtException').slice(1);
      for (const listener of listeners) process.off('uncaughtException', listener);
      expect(spawn('/no/such/program', []).listenerCount('error')).to.equal(0);
      await thrown;
      for (const listener of listeners) process.on('uncaughtException', listener);
    });
    expect(facts[0]?.error).to.contain('ENOENT');
  });

  it('records the signal of a program that was aborted', async () => {
    const abort = new AbortController();
    const facts = await observed(async () => {
      const child = spawn(node, ['-e', 'setInterval(() => {}, 1000)'], { signal: abort.signal });
      child.once('error', () => undefined);
      await once(child, 'spawn');
      abort.abort();
      await once(child, 'close');
    });
    expect(facts[0]).to.include({ signal: 'SIGTERM', error: null });
  });

  it('keeps requests that run at once apart', async () => {
    const all = await Promise.all(
      Array.from({ length: 5 }, (_, id) =>
        observed(async () => {
          await once(spawn('true', [String(id)]), 'close');
        }),
      ),
    );
    all.forEach((facts, id) => {
      expect(facts.map(({ args }) => args[0]?.value)).to.deep.equal([String(id)]);
    });
  });
});
