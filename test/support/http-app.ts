/**
 * The middleware of the service composed as the service composes it, over a recorder that keeps everything in a map, so
 * that the HTTP contract is tested without storage, panels and pages.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import express from 'express';
import type { Express, RequestHandler } from 'express';
import {
  alignExpress,
  createHostCheck,
  createOriginMiddleware,
  originOf,
} from '../../app/middleware/attach-origin.ts';
import { createBodyLimit } from '../../app/middleware/body-limit.ts';
import { createDryMatcher, type DryMatcher } from '../../app/middleware/dry-match.ts';
import { createErrorResponder, type ErrorPage, statusTextOf } from '../../app/middleware/errors.ts';
import { escapeHtml } from '../../app/profiler/escape-html.ts';
import { createExpectationCheck, createFramingCheck } from '../../app/service/middleware/framing-check.ts';
import { createNotFound, createOptionsRule } from '../../app/middleware/not-found.ts';
import { createOriginResolver } from '../../app/middleware/origin.ts';
import { createParsers } from '../../app/service/middleware/parsers.ts';
import { tapBody } from '../../app/middleware/body-tap.ts';
import { type RefusedRequest, refuseRequests } from '../../app/middleware/refuse.ts';
import { createTargetCheck, routeAllTargets } from '../../app/middleware/request-target.ts';
import { createRobots } from '../../app/middleware/security-headers.ts';
import { responseOfError } from '../../app/middleware/error-response.ts';
import type { BodyFact, UploadedFile } from '../../app/profiler/record/facts.ts';
import { createMountedApplications } from '../../app/observe/layers/mounted-applications.ts';
import { urls } from '../../app/urls.ts';
import { WITHIN_MS } from './waiting.ts';

/** What the error page of these tests shows. */
export type ThrownPage = Omit<ErrorPage, 'req'>;

interface ParsedBody {
  body: unknown;
  files: readonly UploadedFile[];
}

function filesOf({ files }: express.Request): UploadedFile[] {
  return (Array.isArray(files) ? files : []).map((file) => ({
    field: file.fieldname,
    name: file.originalname,
    contentType: file.mimetype,
    bytes: file.size,
  }));
}

/** What the test's recorder kept of one request. */
export interface Recorded {
  token: string;
  parent: string | null;
  child: string | null;
  errors: { error: unknown; status: number | null }[];
  body: BodyFact | null;
  parsed: ParsedBody | null;
  refused: RefusedRequest | null;
}

export interface HttpAppOptions {
  debug?: boolean;
  trustedProxies?: readonly string[];
  trustedHosts?: readonly string[] | null;
  limitBytes?: number;
  linger?: { bytes: number; ms: number };
  /** Milliseconds for a request to arrive: its head, and all of it. Default: as long as a test may take. */
  arrival?: { headMs: number; wholeMs: number };
  strict?: boolean;
  renderError?: (page: ThrownPage) => string;
  /** Owner's routes that read their streams themselves. */
  before?: (app: Express) => void;
  /** Owner's routes behind the parsers. */
  after?: (app: Express) => void;
}

export interface HttpApp {
  app: Express;
  server: Server;
  port: number;
  matcher: DryMatcher;
  uploadFolder: string;
  recorded: Map<string, Recorded>;
  /** What the error handler could not show anybody. */
  logged: unknown[];
  close(): Promise<void>;
}

const DEFAULT_PROXIES = ['127.0.0.0/8', '10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16'];

/** The simplest error page that names what was thrown. */
export function plainErrorPage({ error, status, statusText }: ThrownPage): string {
  const text = escapeHtml(`${responseOfError(error).message} (${status} ${statusText})`);
  return `<!DOCTYPE html><title>${text}</title><h1>${escapeHtml(responseOfError(error).message)}</h1>`;
}

function createMapRecorder() {
  const recorded = new Map<string, Recorded>();
  const byRequest = new WeakMap<IncomingMessage, Recorded>();
  let last = 0;
  function open(parent: string | null = null): Recorded {
    const token = (++last).toString(16).padStart(6, '0');
    const record: Recorded = {
      token,
      parent,
      child: null,
      errors: [],
      body: null,
      parsed: null,
      refused: null,
    };
    recorded.set(token, record);
    return record;
  }
  const watch: RequestHandler = (req, res, next) => {
    const record = open();
    byRequest.set(req, record);
    res.setHeader('x-debug-token', record.token);
    res.setHeader('x-debug-token-link', `${originOf(req)?.origin.origin ?? ''}${urls.profile(record.token)}`);
    next();
  };
  return {
    recorded,
    open,
    watch,
    of: (req: IncomingMessage) => byRequest.get(req),
    errors: {
      openChild(req: IncomingMessage) {
        const parent = byRequest.get(req);
        if (parent === undefined) return null;
        const child = open(parent.token);
        parent.child = child.token;
        return { token: child.token, render: <T>(work: () => T): T => work(), finish: () => undefined };
      },
      recordError(req: IncomingMessage, error: unknown, status: number | null) {
        byRequest.get(req)?.errors.push({ error, status });
      },
      isSummary: () => false,
    },
  };
}

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

export async function startHttpApp(options: HttpAppOptions = {}): Promise<HttpApp> {
  const { debug = true, trustedProxies = DEFAULT_PROXIES, trustedHosts = null, limitBytes, linger } = options;
  const { arrival = { headMs: WITHIN_MS, wholeMs: WITHIN_MS } } = options;
  const renderError = options.renderError ?? plainErrorPage;
  const uploadFolder = join(await mkdtemp(join(tmpdir(), 'hindsight-http-')), 'tmp');
  const logged: unknown[] = [];
  const recorder = createMapRecorder();
  const resolver = createOriginResolver({ trustedProxies, trustedHosts });
  const limits = {
    ...(limitBytes === undefined ? {} : { limitBytes }),
    ...(linger === undefined ? {} : { linger }),
  };
  const app = express();
  app.disable('x-powered-by');
  if (options.strict !== false) app.enable('strict routing');
  alignExpress(app, resolver);
  const matcher = createDryMatcher(app, { applications: createMountedApplications() });
  const respond = createErrorResponder({
    maySee: () => debug,
    renderError,
    recorder: debug ? recorder.errors : undefined,
    log: (error) => logged.push(error),
  });
  const unwatch = routeAllTargets(app, respond);
  app.use(createOriginMiddleware(resolver), createRobots());
  if (debug) app.use(recorder.watch);
  app.use(createTargetCheck(), createFramingCheck({ respond, idleMs: 300 }));
  app.use(createExpectationCheck(), createHostCheck());
  app.use((req, _res, next) => {
    const record = recorder.of(req);
    if (record !== undefined) record.body = tapBody(req, 1024);
    next();
  });
  app.use(createBodyLimit({ ...limits, respond }));
  app.use(createOptionsRule(matcher));
  options.before?.(app);
  app.use(createParsers({ uploadFolder, ...limits }));
  app.use((req, _res, next) => {
    const record = recorder.of(req);
    if (record !== undefined && req.body !== undefined)
      record.parsed = { body: req.body, files: filesOf(req) };
    next();
  });
  options.after?.(app);
  app.use(
    createNotFound({
      matcher,
      redactText: (text) => text.replaceAll('hunter2hunter2', '[masked]'),
      idleMs: 300,
    }),
  );
  app.use(((error, req, res, _next) => {
    respond(error, req, res);
  }) satisfies express.ErrorRequestHandler);

  const server = createServer({ requireHostHeader: false, connectionsCheckingInterval: 100 }, app);
  server.headersTimeout = arrival.headMs;
  server.requestTimeout = arrival.wholeMs;
  const record = (refused: RefusedRequest) => {
    const parent = recorder.open();
    const child = recorder.open(parent.token);
    parent.child = child.token;
    parent.refused = refused;
    const { error, status } = refused;
    const html = (): string => renderError({ error, status, statusText: statusTextOf(status) });
    return {
      token: parent.token,
      link: `${refused.origin.origin ?? ''}${urls.profile(parent.token)}`,
      childToken: child.token,
      html,
    };
  };
  const stop = refuseRequests(server, {
    resolver,
    respond,
    ...limits,
    ...(debug ? { record } : {}),
  });
  const port = await listen(server);
  return {
    app,
    server,
    port,
    matcher,
    uploadFolder,
    recorded: recorder.recorded,
    logged,
    async close() {
      stop();
      unwatch();
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
      await rm(join(uploadFolder, '..'), { recursive: true, force: true });
    },
  };
}

/** A handler that answers with what it got, for tests that look at both ends. */
export function echo(req: express.Request, res: ServerResponse): void {
  const body = JSON.stringify({
    url: req.url,
    body: req.body as unknown,
    ip: req.ip,
    protocol: req.protocol,
    hostname: req.hostname,
  });
  res.setHeader('content-type', 'application/json');
  res.end(body);
}
