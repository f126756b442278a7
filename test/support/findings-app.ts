/**
 * A small Express application with the real profiler, asked over HTTP, to see what is found in one of its requests. Each
 * finding is followed to the row that it says proves it.
 */
import express, { type Express } from 'express';
import type { Knex } from 'knex';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createProfiler, type Finding, type Profiler, type ProfilerOptions } from '../../app/index.ts';
import type { Profile } from '../../app/profiler/profile.ts';
import { urls } from '../../app/urls.ts';
import { finalProfile } from './final-profile.ts';
import { KEEP_ALIVE_MS } from './listen.ts';
import { postgresDatabase, openKnex } from './postgres.ts';
import { steadyIn } from './steady-findings.ts';
import { until } from './waiting.ts';

export interface Asked {
  status: number;
  body: string;
  profile: Profile;
  /** Those that are the same on a busy machine. */
  findings: readonly Finding[];
  /** Those of one rule, of time as well. */
  of: (rule: string) => readonly Finding[];
}

export interface FindingsApp {
  /** `holds`: what the profile is waited for, beside being final: it is stored again with what was recorded after the response. */
  ask(path: string, init?: RequestInit, holds?: (profile: Profile) => boolean): Promise<Asked>;
  origin: string;
  close(): Promise<void>;
}

/** Asks the application; `page` gives the text of another page of it, such as one of the profiler's. */
export interface Ask {
  (path: string, init?: RequestInit): Promise<Asked>;
  /**
   * Asks until a request ran as the test needs it: on a machine with other work, what is quick by itself may take long.
   * Rejects where none did.
   */
  when(path: string, ran: (asked: Asked) => boolean, init?: RequestInit): Promise<Asked>;
  /** Asks once, and waits for a finding about what happens after the response. */
  later(path: string, rule: string): Promise<Asked>;
  page(path: string): Promise<string>;
  /** Of the application, for requests that the test sends itself. */
  origin(): string;
}

/** Everything between the profiler and its error page. */
export type BuildApp = (app: Express, profiler: Profiler) => void;

export async function startFindingsApp(build: BuildApp, options: ProfilerOptions = {}): Promise<FindingsApp> {
  const profiler = createProfiler({
    warn: () => undefined,
    // A request that is asked again has to be as it was.
    cpu: 'ask',
    ...options,
  });
  const app = express();
  app.use(profiler.watch, profiler.pages);
  build(app, profiler);
  app.use(profiler.errors);
  const server: Server = app.listen(0, '127.0.0.1');
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  await new Promise((done) => server.once('listening', done));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  /** Looks in the text: to parse a page takes longer than to make it. */
  async function requireProof(token: string, { panel, anchor, sentence }: Finding): Promise<void> {
    const answer = await fetch(
      `${origin}${anchor === undefined ? urls.profile(token, panel) : urls.profileRow(token, panel, anchor)}`,
    );
    const page = await answer.text();
    if (!answer.ok) throw new Error(`Panel ${panel} answers ${answer.status}: ${page.slice(0, 3000)}`);
    if (anchor !== undefined && page.split(` id="${anchor}"`).length !== 2)
      throw new Error(`Panel ${panel} has no row #${anchor} that proves “${sentence}”.`);
  }

  return {
    origin,
    async ask(path, init, holds) {
      const answer = await fetch(`${origin}${path}`, { redirect: 'manual', ...init });
      const body = await answer.text();
      const profile = await finalProfile(profiler, answer, holds);
      for (const finding of profile.findings) await requireProof(profile.token, finding);
      return {
        status: answer.status,
        body,
        profile,
        findings: steadyIn(profile),
        of: (rule) => profile.findings.filter((finding) => finding.rule === rule),
      };
    },
    async close() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
      await profiler.close();
    },
  };
}

function createAsk(running: () => FindingsApp | undefined): Ask {
  function started(): FindingsApp {
    const app = running();
    if (app === undefined) throw new Error('The application is asked for before the tests run.');
    return app;
  }
  const ask = (path: string, init?: RequestInit): Promise<Asked> => started().ask(path, init);
  async function when(path: string, ran: (asked: Asked) => boolean, init?: RequestInit): Promise<Asked> {
    let last: Asked | undefined;
    await until(async () => ran((last = await ask(path, init))), `${path} runs as the test needs it`);
    return last!;
  }
  const later = (path: string, rule: string): Promise<Asked> =>
    started().ask(path, undefined, ({ findings }) => findings.some((finding) => finding.rule === rule));
  const page = async (path: string): Promise<string> => (await fetch(`${started().origin}${path}`)).text();
  return Object.assign(ask, { when, later, page, origin: () => started().origin });
}

/** Registers hooks for the current `describe`; returns how to ask the application. */
export function withFindingsApp(build: BuildApp, options?: ProfilerOptions): Ask {
  let running: FindingsApp | undefined;
  before(async () => {
    running = await startFindingsApp(build, options);
  });
  after(async () => {
    await running?.close();
  });
  return createAsk(() => running);
}

/** The same with a Knex of its own on an empty database, in which `prepare` makes its tables. */
export function withFindingsDatabase(
  prepare: (knex: Knex) => Promise<unknown>,
  build: (app: Express, knex: Knex, profiler: Profiler) => void,
  { pool = 4, ...options }: ProfilerOptions & { pool?: number } = {},
): Ask {
  let running: FindingsApp | undefined;
  let knex: Knex | undefined;
  before(async function () {
    const opened = openKnex(await postgresDatabase(this), { pool: { min: 0, max: pool } });
    knex = opened;
    await prepare(opened);
    running = await startFindingsApp((app, profiler) => {
      profiler.watchKnex(opened);
      build(app, opened, profiler);
    }, options);
  });
  after(async () => {
    await running?.close();
    await knex?.destroy();
  });
  return createAsk(() => running);
}
