/** A client that breaks its connection off before the answer is over, and what is found in the profile of its request. */
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Finding, Profiler } from '../../app/index.ts';
import { type BuildApp, type FindingsApp, startFindingsApp } from './findings-app.ts';

export interface Left {
  findings: readonly Finding[];
  of: (rule: string) => readonly Finding[];
}

/** Registers hooks for the current `describe`. `request` is sent as it is; the socket is destroyed `afterMs` later. */
export function withLeavingClient(build: BuildApp): (request: string, afterMs?: number) => Promise<Left> {
  let running: FindingsApp | undefined;
  let made: Profiler | undefined;
  let token: string | undefined;
  before(async () => {
    running = await startFindingsApp((app, profiler) => {
      made = profiler;
      app.use((req, _res, next) => {
        token = profiler.watch.contextOf(req)?.token;
        next();
      });
      build(app, profiler);
    });
  });
  after(async () => {
    await running?.close();
  });
  return async (request, afterMs = 60) => {
    token = undefined;
    const socket = connect(Number(new URL(running?.origin ?? '').port), '127.0.0.1');
    socket.on('error', () => undefined).resume();
    socket.write(request);
    await sleep(afterMs);
    socket.destroy();
    for (let tries = 0; tries < 200; tries++) {
      const found = token === undefined ? null : await made?.profiles.read(token);
      if (found?.profile.state === 'final') {
        const { findings } = found.profile;
        return { findings, of: (rule) => findings.filter((finding) => finding.rule === rule) };
      }
      await sleep(10);
    }
    throw new Error('The profile of the request that was left is not final after two seconds.');
  };
}
