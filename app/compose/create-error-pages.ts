/**
 * Joins the error handler with the recorder: a thrown value becomes a fact of its request, and the page is rendered as a child of
 * it, so that its cost is recorded and never mixed with the application's.
 */
import type { IncomingMessage } from 'node:http';
import {
  createErrorResponder,
  type ErrorPage,
  type ErrorRecorder,
  statusTextOf,
} from '../middleware/errors.ts';
import type { RespondWithError } from '../middleware/cut-off.ts';
import type { Guard } from '../middleware/guard.ts';
import type { RecordedRefusal, RefusedRequest } from '../middleware/refuse.ts';
import { recordError } from '../observe/errors-seen.ts';
import type { Context, ContextTracker } from '../profiler/record/context.ts';
import type { ResponseFact } from '../profiler/record/facts.ts';
import type { Profile } from '../profiler/profile.ts';
import type { Recorder } from '../profiler/record/recorder.ts';
import type { SummaryReason } from '../profiler/record/recording-limit.ts';
import { urls } from '../urls.ts';

export type RenderErrorPage = (page: {
  profile: Profile;
  error: unknown;
  status: number;
  statusText: string;
  child: string | null;
}) => string;

/** What the error page reads of a profile: its views, and the number of statements for its head. */
const SHOWN = ['exception', 'routing', 'database'];

export interface ErrorPagesOptions {
  recorder: Recorder;
  tracker: ContextTracker;
  renderErrorPage: RenderErrorPage;
  guard: Pick<Guard, 'isSet' | 'maySee'>;
  redactText?: (text: string) => string;
  log?: (error: unknown, req: IncomingMessage) => void;
  /** Why only a summary of a refused request is recorded; null: it is recorded in full. */
  summaryReason: () => SummaryReason | null;
}

export interface ErrorPages {
  respond: RespondWithError;
  recordRefusal(request: RefusedRequest): RecordedRefusal;
}

/** A response without an HTTP response object: of the rendering of an error page, or to a refused request. */
function syntheticResponse(status: number, statusText: string, atMs: number): ResponseFact {
  return {
    status,
    statusMessage: statusText,
    rawHeaders: [],
    headersAtMs: atMs,
    bodyBytes: 0,
    preview: Buffer.alloc(0),
    truncated: false,
    outcome: 'finished',
  };
}

export function createErrorPages(options: ErrorPagesOptions): ErrorPages {
  const { recorder, tracker, renderErrorPage, guard, summaryReason } = options;

  function openChild(parent: Context): Context {
    const child = recorder.open('error_page', parent);
    const request = parent.first('request');
    if (request !== undefined) child.add('request', request);
    return child;
  }

  function finishChild(
    child: Context,
    page: { status: number; statusText: string; bodyBytes: number | null },
  ): void {
    const response = syntheticResponse(page.status, page.statusText, child.elapsedMs());
    response.bodyBytes = page.bodyBytes ?? 0;
    child.add('response', response);
    recorder.finish(child);
  }

  function render(context: Context, child: Context, page: Omit<ErrorPage, 'req'>): string {
    return renderErrorPage({ ...page, profile: recorder.snapshot(context, SHOWN), child: child.token });
  }

  const children = new WeakMap<IncomingMessage, Context>();

  const errorRecorder: ErrorRecorder = {
    openChild(req) {
      const parent = tracker.of(req);
      // Nobody reads the page of a finished request.
      if (parent === undefined || parent.ended) return null;
      const goOn = parent.stopClock('error page');
      const child = openChild(parent);
      children.set(req, child);
      return {
        token: child.token,
        render: (work) => tracker.run(child, work),
        finish: (page) => {
          const response = parent.first('response');
          if (page.bodyBytes !== null && response !== undefined) response.isErrorPage = true;
          finishChild(child, page);
          goOn();
        },
      };
    },
    recordError(req, error, status) {
      const context = tracker.of(req);
      if (context === undefined) return;
      const goOn = context.stopClock('error page');
      try {
        recordError(context, error, { origin: status === null ? 'late' : 'handled', status });
      } finally {
        goOn();
      }
    },
    isSummary: (req) => (tracker.of(req)?.summary ?? null) !== null,
  };

  function renderError({ req, ...page }: ErrorPage): string {
    const context = tracker.of(req);
    const child = children.get(req);
    if (context === undefined || child === undefined) throw new Error('This request is not recorded.');
    return render(context, child, page);
  }

  return {
    respond: createErrorResponder({
      maySee: (req) => guard.maySee(req),
      renderError,
      recorder: errorRecorder,
      redactText: options.redactText,
      log: options.log,
    }),
    recordRefusal(refused) {
      const { error, status, origin, received } = refused;
      const page = { status, statusText: statusTextOf(status) };
      const reason = summaryReason();
      const context = reason === null ? recorder.open('request') : recorder.openSummary(reason);
      context.add('request', refused);
      if (received.length > 0) {
        context.add('body', {
          bytes: received.length,
          contentType: null,
          preview: received,
          truncated: false,
          files: [],
        });
      }
      recordError(context, error, { origin: 'parser', status });
      context.add('response', syntheticResponse(status, page.statusText, context.elapsedMs()));
      const goOn = context.stopClock('error page');
      const child = openChild(context);
      const renderPage = (): string | null => {
        let html: string | undefined;
        try {
          // The sender of a malformed head is unknown, so with a guard the page shows nothing that was recorded.
          if (guard.isSet || context.summary !== null) return null;
          html = tracker.run(child, () => render(context, child, { ...page, error }));
          return html;
        } finally {
          finishChild(child, { ...page, bodyBytes: html === undefined ? null : Buffer.byteLength(html) });
          goOn();
          recorder.finish(context);
        }
      };
      const link = `${origin.origin ?? ''}${urls.profile(context.token)}`;
      return { token: context.token, link, childToken: child.token, html: renderPage };
    },
  };
}
