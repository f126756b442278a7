/**
 * A line as a logger wrote it -> level, channel, message and context, where its format has them: JSON (pino, bunyan, winston),
 * debug's, NestJS's, log4js's, or a leading level. Any other line is a message as a whole; nothing is guessed.
 */
import { isRecord, parseJson } from '../../profiler/json.ts';
import type { LogLevel } from './logs.ts';

export interface ReadLine {
  level: LogLevel;
  channel: string | null;
  message: string;
  context: Record<string, unknown> | null;
}

const LEVELS: Readonly<Record<string, LogLevel>> = {
  fatal: 'error',
  critical: 'error',
  emerg: 'error',
  alert: 'error',
  crit: 'error',
  error: 'error',
  err: 'error',
  warn: 'warn',
  warning: 'warn',
  notice: 'info',
  info: 'info',
  log: 'info',
  http: 'info',
  verbose: 'debug',
  debug: 'debug',
  silly: 'debug',
  trace: 'debug',
};

export function levelOf(given: unknown): LogLevel | null {
  if (typeof given === 'string') {
    const name = given.toLowerCase();
    return Object.hasOwn(LEVELS, name) ? (LEVELS[name] ?? null) : null;
  }
  if (typeof given !== 'number' || !Number.isFinite(given)) return null;
  if (given >= 50) return 'error';
  if (given >= 40) return 'warn';
  return given >= 30 ? 'info' : 'debug';
}

/** Fields of every line that the profile knows anyway. */
const EVERYWHERE = new Set(['time', 'timestamp', '@timestamp', 'pid', 'hostname', 'v']);

export function readJsonLine(text: string): ReadLine | null {
  if (!text.startsWith('{') || !text.endsWith('}')) return null;
  const parsed = parseJson(text);
  if (!isRecord(parsed)) return null;
  const { level, severity, msg, message, name, logger, ...rest } = parsed;
  const read = levelOf(level ?? severity ?? rest['log.level']);
  const said = msg ?? message;
  if (read === null && typeof said !== 'string') return null;
  const channel = name ?? logger;
  const context = Object.fromEntries(Object.entries(rest).filter(([key]) => !EVERYWHERE.has(key)));
  return {
    level: read ?? 'info',
    channel: typeof channel === 'string' ? channel : null,
    message: typeof said === 'string' ? said : '',
    context: Object.keys(context).length === 0 ? null : context,
  };
}

/** debug with and without colours: `  app:db message +3ms`, `2026-11-20T… app:db message`. */
const DEBUG_COLOURED = /^ {2}([\w:.*@/-]{1,80}) (.*?)(?: \+\d+(?:ms|s|m|h|d))?$/s;
const DEBUG_DATED =
  /^(?:\d{4}-\d\d-\d\dT[\d:.]+Z|[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} [\d:]{8} GMT) ([\w:.*@/-]{1,80}) (.*)$/s;
/** A leading level, perhaps behind a date: `warn: …`, `[error] …`, `2026-11-23T07:00:00Z ERROR …`. */
const DATE = String.raw`\[?\d{4}-\d\d-\d\d[T ][\d:.,]{5,15}(?: ?(?:Z|[+-]\d\d:?\d\d))?\]?[ ,|-]+`;
const LEVEL_IN_FRONT = new RegExp(`^(?:${DATE})?(?:\\[([a-z]{3,8})\\]|([a-z]{3,8}):)\\s`, 'i');
const WORD_IN_FRONT = new RegExp(`^(?:${DATE})?(FATAL|ERROR|WARN|WARNING|INFO|DEBUG|TRACE)\\s`);
/** NestJS: `[Nest] 17  - 11/23/2026, 7:00:00 AM   ERROR [ExceptionsHandler] …`. */
const NEST =
  /^\[[^\]\n]{1,40}\] \d+ +- [^\n]{8,40}? +(FATAL|ERROR|WARN|LOG|DEBUG|VERBOSE) (?:\[([^\]\n]{1,80})\] )?(.*)$/s;
/** log4js: `[2026-11-23T07:00:00.000] [WARN] orders - …`. */
const LOG4JS = /^\[\d{4}-\d\d-\d\d[T ][\d:.,]{5,15}\] \[([A-Z]{3,8})\] (\S{1,80}) - (.*)$/s;

function readDebugLine(text: string): ReadLine | null {
  const match = DEBUG_DATED.exec(text) ?? DEBUG_COLOURED.exec(text);
  const [, channel, message] = match ?? [];
  if (channel === undefined || message === undefined) return null;
  return { level: 'debug', channel, message, context: null };
}

export function readLine(text: string, stream: 'stdout' | 'stderr'): ReadLine {
  const known = readJsonLine(text) ?? (stream === 'stderr' ? readDebugLine(text) : null);
  if (known !== null) return known;
  const [, written, channel = null, message = text] = NEST.exec(text) ?? LOG4JS.exec(text) ?? [];
  const level = levelOf(written);
  if (level !== null) return { level, channel, message, context: null };
  const [, bracketed, named] = LEVEL_IN_FRONT.exec(text) ?? [];
  const word = bracketed ?? named ?? WORD_IN_FRONT.exec(text)?.[1];
  return { level: levelOf(word) ?? 'info', channel: null, message: text, context: null };
}
