/**
 * The errors that the service and the profiler raise. A test compares them with docs/service/errors.md. Messages contain the offending
 * value, never a secret. Errors of the application are not wrapped; they keep their own status and message.
 */
import { types } from 'node:util';

/** `message` gets the offending values and returns one sentence. */
const catalogue = {
  ROUTE_NOT_FOUND: {
    status: 404,
    message: (method: string, path: string) => `No route found for "${method} ${path}"`,
  },
  ROUTE_MISS: { status: 404, message: (path: string) => `No routes found for "${path}".` },
  METHOD_NOT_ALLOWED: {
    status: 405,
    message: (method: string, path: string, allow: string) =>
      `No route found for "${method} ${path}": Method Not Allowed (Allow: ${allow})`,
  },
  INVALID_HOST: { status: 400, message: (host: string) => `Invalid Host "${host}".` },
  UNTRUSTED_HOST: { status: 400, message: (host: string) => `Untrusted Host "${host}".` },
  BODY_TOO_LARGE: {
    status: 413,
    message: (limit: string, sent: string) => `The request body is limited to ${limit}; ${sent} were sent.`,
  },
  UPLOAD_TOO_LARGE: {
    status: 413,
    message: (limit: string, sent: string) => `An upload is limited to ${limit}; ${sent} were sent.`,
  },
  BAD_REQUEST: { status: 400, message: (reason: string) => reason },
  UNKNOWN_TOKEN: { status: 404, message: (token: string) => `Token "${token}" not found.` },
  UNKNOWN_PANEL: {
    status: 404,
    message: (panel: string, token: string) => `Panel "${panel}" is not available for token "${token}".`,
  },
  BAD_FILTER: { status: 400, message: (name: string, problem: string) => `The filter "${name}" ${problem}.` },
  UNAUTHORIZED: {
    status: 401,
    message: () =>
      "The profiler's pages require a password. Reload the page to sign in: any user name, and the value of PROFILER_PASSWORD.",
  },
  FORBIDDEN: {
    status: 403,
    message: () => "This application does not allow you to see the profiler's pages.",
  },
  UNKNOWN_HOST: {
    status: 403,
    message: (host: string) =>
      `The profiler has no password, so it responds to known hosts only, and "${host}" is not one. Add it to TRUSTED_HOSTS or ` +
      'APP_DOMAIN (in your own application: PROFILER_HOSTS, or the option hosts), or set PROFILER_PASSWORD.',
  },
  CROSS_SITE: {
    status: 403,
    message: () =>
      "Only the profiler's own pages may do this: the request comes from another origin, or names none.",
  },
  FORM_EXPIRED: {
    status: 403,
    message: () => 'This form has expired or belongs to another server. Reload the page and try again.',
  },
  EXPECTATION_FAILED: {
    status: 417,
    message: (expected: string) => `The expectation "${expected}" can't be met.`,
  },
  STORAGE_UNAVAILABLE: {
    status: 503,
    message: (reason: string) => `The stored profiles can't be read: ${reason}`,
  },
  BAD_CONFIG: { status: 500, message: (name: string, problem: string) => `${name} ${problem}` },
} as const;

export type ErrorCode = keyof typeof catalogue;
type MessageArguments<C extends ErrorCode> = Parameters<(typeof catalogue)[C]['message']>;

/** `ROUTE_NOT_FOUND` -> `RouteNotFoundError`. */
function nameOf(code: ErrorCode): string {
  const words = code.toLowerCase().split('_');
  return `${words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('')}Error`;
}

/** An error of the catalogue. `expose`, as in http-errors: the message may be shown with debug off. */
export class HindsightError extends Error {
  readonly code: ErrorCode;
  readonly status: number;
  readonly expose: boolean;
  /** Response headers the error page must carry, such as `Allow`. */
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    code: ErrorCode,
    message: string,
    options: { status: number; cause?: unknown; headers?: Record<string, string> },
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = nameOf(code);
    this.code = code;
    this.status = options.status;
    this.expose = options.status < 500;
    this.headers = options.headers ?? {};
  }
}

/** By its code, because a loader that loads modules twice (tsx, Jest) has two classes of this name. */
export function isHindsightError(error: unknown): error is HindsightError {
  // No instanceof: it asks a proxy.
  return types.isNativeError(error) && 'code' in error && Object.hasOwn(catalogue, String(error.code));
}

/** All codes with their status, for the documentation test. */
export function listErrorCodes(): { code: ErrorCode; status: number }[] {
  return (Object.keys(catalogue) as ErrorCode[]).map((code) => ({ code, status: catalogue[code].status }));
}

/** `details` are the values that the message names. */
export function createError<C extends ErrorCode>(
  code: C,
  details: MessageArguments<C>,
  options: { cause?: unknown; headers?: Record<string, string> } = {},
): HindsightError {
  const entry = catalogue[code];
  const message = (entry.message as (...values: MessageArguments<C>) => string)(...details);
  return new HindsightError(code, message, { status: entry.status, ...options });
}

/** No code threw it, and a stack costs more than the rest of an error. A host may have frozen `Error`. */
function withoutStack<T>(work: () => T): T {
  const { stackTraceLimit } = Error;
  Reflect.set(Error, 'stackTraceLimit', 0);
  try {
    return work();
  } finally {
    Reflect.set(Error, 'stackTraceLimit', stackTraceLimit);
  }
}

/** The 404 of an unknown path, with the failed second try (`second`: the other spelling) as its cause. `referer`: already masked. */
export function createRouteNotFound(request: {
  method: string;
  path: string;
  second: string;
  referer?: string | undefined;
}): HindsightError {
  const { method, path, second, referer = '' } = request;
  const { message, status } = catalogue.ROUTE_NOT_FOUND;
  const suffix = referer === '' ? '' : ` (from "${referer}")`;
  return withoutStack(() => {
    const cause = createError('ROUTE_MISS', [second]);
    return new HindsightError('ROUTE_NOT_FOUND', message(method, path) + suffix, { status, cause });
  });
}

/** Under Jest, errors of Node.js are of another realm than this code. */
export function isError(value: unknown): value is Error {
  return types.isNativeError(value) || value instanceof Error;
}

/** The message of whatever was thrown. */
export function messageOf(error: unknown): string {
  return isError(error) ? error.message : String(error);
}

/** The code of what a system or a database reported, such as ENOENT or 57014; empty if it has none. */
export function codeOf(error: unknown): string {
  return isError(error) && 'code' in error && typeof error.code === 'string' ? error.code : '';
}

/** What a store reports that failed for any reason. */
export function unavailable(error: unknown): HindsightError {
  return isHindsightError(error)
    ? error
    : createError('STORAGE_UNAVAILABLE', [messageOf(error)], { cause: error });
}
