/**
 * The profiler of `express-hindsight/register`: one for all Express applications of a process, whatever their copy of Express. It wraps
 * `handle` on the prototype of applications, so it runs before their first middleware. It stops if the code creates a profiler itself.
 */
import type { Server } from 'node:http';
import { ConfigError, hostEnvironment } from '../config.ts';
import { urls } from '../urls.ts';
import {
  attach,
  type Handle,
  isExpressApplication,
  isProfiled,
  profiledHandle,
  profilerOf,
} from './attach.ts';
import { createProfiler } from './create-profiler.ts';
import { processProfilers } from './process-profilers.ts';
import type { Profiler } from './profiler-options.ts';

/** What `require('express')` returns. */
export interface ExpressLibrary {
  application: { handle: Handle };
}

export interface AutoProfiler {
  /** A copy of Express was loaded. */
  takeExpress(library: ExpressLibrary): void;
  /** A server listens, or is about to: finds applications of a bundled Express, and says where the pages are. */
  takeServer(server: Server, listens: boolean): void;
}

function originOf(server: Server): string | null {
  const address = server.address();
  if (typeof address !== 'object' || address === null) return null;
  const scheme = 'setSecureContext' in server ? 'https' : 'http';
  const everywhere = address.address === '::' || address.address === '0.0.0.0';
  const host = everywhere ? 'localhost' : address.address;
  return `${scheme}://${host.includes(':') ? `[${host}]` : host}:${address.port}`;
}

/** null if the settings are invalid (a warning says so) or the code has created a profiler already. */
export function createAutoProfiler(): AutoProfiler | null {
  const profilers = processProfilers();
  if (profilers.made > 0) return null;
  const say = process.stderr.write.bind(process.stderr);
  const warn = (sentence: string): void => void say(`hindsight: ${sentence}\n`);
  let profiler: Profiler | null;
  try {
    profiler = createProfiler({ ...hostEnvironment(), warn }, () => () => undefined);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    warn(`${error.message} Nothing is recorded.`);
    return null;
  }
  const stepAside = (): void => {
    void profiler?.close();
    profiler = profilers.stepAside = null;
  };
  profilers.stepAside = stepAside;
  let announced: 'no' | 'yes' | 'of a server that may have no pages' = 'no';

  return {
    takeExpress(library) {
      const { application } = library;
      // It is still being required: what looks for libraries would see it only when it is required again.
      profiler?.observe('express', library);
      application.handle = profiledHandle(application.handle, (app) =>
        profilerOf(app) === null ? profiler : null,
      );
    },
    takeServer(server, listens) {
      if (profiler === null) return;
      const apps = server.listeners('request').filter(isExpressApplication);
      for (const app of apps) if (!isProfiled(app)) attach(app, profiler);
      if (!listens || server.listenerCount('request') === 0) return;
      profiler.watch.watchServer(server);
      // Frameworks call their application from a function of their own; so may a server of metrics that listens first.
      const isSure = apps.length > 0;
      if (announced === 'yes' || (announced !== 'no' && !isSure)) return;
      announced = isSure ? 'yes' : 'of a server that may have no pages';
      const origin = originOf(server);
      if (origin !== null) warn(`profiles at ${origin}${urls.home()}`);
    },
  };
}
