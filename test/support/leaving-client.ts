/** A client that breaks its connection off before the answer is over, and what is found in the profile of its request. */
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Profiler } from '../../app/index.ts';
import type { Profile } from '../../app/profiler/profile.ts';
import { type Asked, type BuildApp, type FindingsApp, startFindingsApp } from './findings-app.ts';
import { steadyIn } from './steady-findings.ts';
import { until } from './waiting.ts';

export type Left = Pick<Asked, 'findings' | 'of'>;

/** Milliseconds until the client leaves, once its request has come. */
const STAYS_MS = 60;

/**
 * Registers hooks for the current `describe`. `request` is sent as it is. `by`: who closes the connection; the client waits for a process
 * that does, however long that takes.
 */
export function withLeavingClient(
  build: BuildApp,
): (request: string, by?: 'client' | 'process') => Promise<Left> {
  let running: FindingsApp | undefined;
  let made: Profiler | undefined;
  let token: string | undefined;
  before(async () => {
    running = await startFindingsApp((app, profiler) => {
      made = profiler;
      app.use((_req, res, next) => {
        token = String(res.getHeader('x-debug-token'));
        next();
      });
      build(app, profiler);
    });
  });
  after(async () => {
    await running?.close();
  });
  return async (request, by = 'client') => {
    token = undefined;
    const socket = connect(Number(new URL(running?.origin ?? '').port), '127.0.0.1');
    socket.on('error', () => undefined).resume();
    const isClosed = new Promise((done) => socket.once('close', done));
    socket.write(request);
    await until(() => token !== undefined, 'the request has come');
    if (by === 'client') {
      await sleep(STAYS_MS);
      socket.destroy();
    }
    await isClosed;
    let profile: Profile | undefined;
    await until(async () => {
      ({ profile } = (await made?.profiles.read(token ?? '')) ?? {});
      return profile?.state === 'final';
    }, 'the profile of the request that was left is final');
    const { findings } = profile!;
    return {
      findings: steadyIn({ findings }),
      of: (rule) => findings.filter((finding) => finding.rule === rule),
    };
  };
}
