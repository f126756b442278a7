import { expect } from 'chai';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { observeProcessErrors } from '../../app/observe/errors-seen.ts';
import { packageRoot } from '../../app/paths.ts';
import { Context, ContextTracker } from '../../app/profiler/record/context.ts';
import { withBuild } from '../support/build.ts';

/** Runs a program that fails inside a context, and returns what was noted when the process ended. */
function runFailing(failure: string): { status: number | null; noted: unknown } {
  const url = (path: string): string => pathToFileURL(join(packageRoot(), path)).href;
  const program = `
    const { Context, ContextTracker } = await import(${JSON.stringify(url('dist/app/profiler/record/context.js'))});
    const { observeProcessErrors } = await import(${JSON.stringify(url('dist/app/observe/errors-seen.js'))});
    const tracker = new ContextTracker();
    const { tracedCallback } = await import(${JSON.stringify(url('dist/app/observe/channels/trace.js'))});
    observeProcessErrors({ tracker });
    const context = new Context({ token: 'abc123', kind: 'request' });
    process.on('exit', () => {
      const noted = context.all('error').map(({ error, origin, status }) => [String(error), origin, status]);
      console.log(JSON.stringify(noted));
    });
    tracker.run(context, async () => { ${failure} });
  `;
  const result = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
    cwd: packageRoot(),
    encoding: 'utf8',
  });
  return { status: result.status, noted: JSON.parse(result.stdout) };
}

describe('errors that end the process', () => {
  withBuild();

  it('are noted on the request they belong to, and end the process all the same', () => {
    expect(runFailing("setTimeout(() => { throw new Error('late'); }, 5)")).to.deep.equal({
      status: 1,
      noted: [['Error: late', 'uncaughtException', null]],
    });
  });

  it('are rejections that nobody handled, too', () => {
    expect(runFailing("setTimeout(() => { void Promise.reject(new Error('lost')); }, 5)")).to.deep.equal({
      status: 1,
      noted: [['Error: lost', 'unhandledRejection', null]],
    });
  });

  const fail = (name: string) => `() => { throw new Error('${name}'); }`;
  const elsewhere = (work: string) => `tracker.run(undefined, () => setTimeout(${work}, 5))`;

  it('are those of listeners, and of callbacks, that a connection of another request calls', () => {
    const listener = `const bound = tracker.bindTo(context, ${fail('in a listener')}); ${elsewhere('bound')}`;
    expect(runFailing(listener)).to.deep.equal({
      status: 1,
      noted: [['Error: in a listener', 'uncaughtException', null]],
    });
    const callback = `
      const channel = (await import('node:diagnostics_channel')).tracingChannel('test:query');
      tracker.follow(channel.asyncStart, () => context);
      const called = tracedCallback(channel, {}, ${fail('in a callback')}); ${elsewhere('called')}`;
    expect(runFailing(callback)).to.deep.equal({
      status: 1,
      noted: [['Error: in a callback', 'uncaughtException', null]],
    });
  });

  it('are not those that were thrown before, and caught', () => {
    const caught = `try { tracker.run(context, ${fail('caught')}); } catch {}`;
    const later = `tracker.run(undefined, () => setTimeout(() => { ${caught} setImmediate(${fail('other')}); }, 5))`;
    expect(runFailing(later)).to.deep.equal({ status: 1, noted: [] });
  });

  it('are no longer listened to once closed', () => {
    const tracker = new ContextTracker();
    const before = process.listenerCount('uncaughtExceptionMonitor');
    const observer = observeProcessErrors({ tracker });
    const context = new Context({ token: 'abc123', kind: 'request' });
    const emit = (): void => {
      for (const listener of process.listeners('uncaughtExceptionMonitor'))
        Reflect.apply(listener, process, [new Error('x'), 'uncaughtException']);
    };
    tracker.run(context, emit);
    emit();
    observer.close();
    tracker.run(context, emit);
    expect(context.all('error')).to.have.length(1);
    expect(process.listenerCount('uncaughtExceptionMonitor')).to.equal(before);
  });
});
