/** The service's application: the order of `app.use` is the path of a request. */
import ejs from 'ejs';
import type expressPackage from 'express';
import type { Express, NextFunction, Request, Response } from 'express';
import { join } from 'node:path';
import type { Server } from 'node:http';
import type { Config } from '../config.ts';
import type { Profiler } from '../compose/profiler-options.ts';
import { createAccessLog } from './middleware/access-log.ts';
import { alignExpress, createHostCheck, createOriginMiddleware } from '../middleware/attach-origin.ts';
import { createBodyLimit } from '../middleware/body-limit.ts';
import { createErrorLog } from '../compose/repeated-lines.ts';
import { createDryMatcher } from '../middleware/dry-match.ts';
import { createErrorResponder } from '../middleware/errors.ts';
import { createExpectationCheck, createFramingCheck } from './middleware/framing-check.ts';
import { createNotFound, createOptionsRule } from '../middleware/not-found.ts';
import type { OriginResolver } from '../middleware/origin.ts';
import { createParsers } from './middleware/parsers.ts';
import { refuseRequests } from '../middleware/refuse.ts';
import { createTargetCheck, routeAllTargets } from '../middleware/request-target.ts';
import { createRobots } from '../middleware/security-headers.ts';
import { createMountedApplications } from '../observe/layers/mounted-applications.ts';
import { packageRoot, requirePackage } from '../paths.ts';
import type { Redactor } from '../profiler/masking/redact.ts';
import type { RouteEntry, Services } from '../routes/services.ts';

export interface AppOptions {
  config: Config;
  profiler: Profiler | null;
  resolver: OriginResolver;
  redactor: Redactor;
  services: Services;
  routes: readonly RouteEntry[];
  viewFolders?: readonly string[];
  log: (line: string) => void;
  writeAccess: (line: string) => void;
}

export interface App {
  app: Express;
  /** Lets the error page respond to what the HTTP parser refuses, too. */
  refuse(server: Server): void;
  close(): void;
}

const express = requirePackage('express') as typeof expressPackage;

export function createApp(options: AppOptions): App {
  const { config, profiler, resolver, redactor, services, routes, log, writeAccess } = options;
  const app = express();
  app.disable('x-powered-by');
  app.set('views', [...(options.viewFolders ?? []), join(packageRoot(), 'views')]);
  app.engine('ejs', ejs.renderFile);
  app.set('view engine', 'ejs');
  alignExpress(app, resolver);
  profiler?.watchApp(app);
  profiler?.watchEngine(ejs);

  const matcher = createDryMatcher(app, {
    applications: createMountedApplications(),
    ...(profiler === null ? {} : { sourceOf: profiler.sourceOf }),
  });
  const redactText = (text: string): string => redactor.text(text);
  const errorLog = createErrorLog({ print: log, redactText });
  const respond =
    profiler?.respondWithError ??
    createErrorResponder({ maySee: () => false, renderError: () => '', redactText, log: errorLog.log });

  const restoreTargets = routeAllTargets(app, respond);
  app.use(createRobots());
  app.use(createOriginMiddleware(resolver));
  if (profiler !== null) app.use(profiler.watch);
  app.use(createAccessLog({ redactText, write: writeAccess }));
  app.use(createTargetCheck(), createFramingCheck({ respond }), createExpectationCheck(), createHostCheck());
  app.use(createBodyLimit({ respond }));
  if (profiler !== null) app.use(profiler.pages);
  app.use(createOptionsRule(matcher));
  mount('before');
  app.use(createParsers({ uploadFolder: join(config.varDir, 'tmp') }));
  mount('after');
  app.use(createNotFound({ matcher, redactText }));
  app.use(function errorPage(error: unknown, req: Request, res: Response, _next: NextFunction) {
    respond(error, req, res);
  });

  function mount(parsers: RouteEntry['parsers']): void {
    for (const entry of routes.filter((route) => route.parsers === parsers)) {
      app.use(entry.mount, entry.router(services));
    }
  }

  const methods = (): string[] => matcher.routes().map(({ method }) => method);
  return {
    app,
    close() {
      restoreTargets();
      errorLog.close();
    },
    refuse(server) {
      if (profiler === null) refuseRequests(server, { resolver, respond, methods, redactText });
      else profiler.refuse(server, { resolver, methods });
    },
  };
}
