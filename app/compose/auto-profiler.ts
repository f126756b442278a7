/**
 * The profiler of `express-hindsight/register`: one for all Express applications of a process, whatever their copy of Express. It wraps
 * `handle` on the prototype of applications, so it runs before their first middleware. It stops if the code creates a profiler itself.
 */
import type { Server } from 'node:http';
import { ConfigError, hostEnvironment } from '../config.ts';
import { printError } from '../print.ts';
import { listAddress } from './announce.ts';
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

/** A server of an application may listen after one that may have no pages. */
const UNSURE_MS = 500;

export interface ExpressLibrary {
  application: { handle: Handle };
}

export interface AutoProfiler {
  /** A copy of Express was loaded. */
  takeExpress(library: ExpressLibrary): void;
  /** A server listens, or is about to: finds applications of a bundled Express, and says where the pages are. */
  takeServer(server: Server, listens: boolean): void;
}

/** null if the settings are invalid (a warning says so) or the code has created a profiler already. */
export function createAutoProfiler(): AutoProfiler | null {
  const profilers = processProfilers();
  if (profilers.made > 0) return null;
  const warn = (sentence: string): void => {
    printError(`hindsight: ${sentence}\n`);
  };
  let profiler: Profiler | null;
  try {
    profiler = createProfiler({ ...hostEnvironment({}), warn }, () => () => undefined);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    warn(`${error.message} Nothing is recorded.`);
    return null;
  }
  let isAnnounced = false;
  let unsure: NodeJS.Timeout | undefined;
  const stepAside = (): void => {
    clearTimeout(unsure);
    void profiler?.close();
    profiler = profilers.stepAside = null;
  };
  profilers.stepAside = stepAside;
  function printAddress(server: Server): void {
    const address = listAddress(server);
    if (address !== null) warn(address);
  }

  /** Frameworks call their application from a function of their own. So may a server of metrics that listens first: it has no pages. */
  function announce(server: Server, isSure: boolean): void {
    if (isAnnounced) return;
    if (isSure) {
      isAnnounced = true;
      clearTimeout(unsure);
      printAddress(server);
    } else unsure ??= setTimeout(printAddress, UNSURE_MS, server).unref();
  }

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
      announce(server, apps.length > 0);
      profiler.watch.watchServer(server);
    },
  };
}
