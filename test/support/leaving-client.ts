/** A client that breaks its connection off before the answer is over, and what is found in the profile of its request. */
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Finding, Profiler } from '../../app/index.ts';
import { type BuildApp, type FindingsApp, startFindingsApp } from './findings-app.ts';
import { until } from './waiting.ts';

export interface Left {
  findings: readonly Finding[];
  of: (rule: string) => readonly Finding[];
}

/** Registers hooks for the current `describe`. `request` is sent as it is; the socket is destroyed `afterMs` after it has come. */
export function withLeavingClient(build: BuildApp): (request: string, afterMs?: number) => Promise<Left> {
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
  return async (request, afterMs = 60) => {
    token = undefined;
    const socket = connect(Number(new URL(running?.origin ?? '').port), '127.0.0.1');
    socket.on('error', () => undefined).resume();
    socket.write(request);
    await until(() => token !== undefined, 'the request has come');
    await sleep(afterMs);
    socket.destroy();
    let findings: readonly Finding[] | undefined;
    await until(async () => {
      const { profile } = (await made?.profiles.read(token ?? '')) ?? {};
      if (profile?.state === 'final') ({ findings } = profile);
      return findings !== undefined;
    }, 'the profile of the request that was left is final');
    const found = findings ?? [];
    return { findings: found, of: (rule) => found.filter((finding) => finding.rule === rule) };
  };
}
