/**
 * winston -> facts `log`, where a host passes its copy: all loggers call `Logger.prototype.write`, with the level, the message and
 * its metadata. Otherwise what winston's console transport writes is recorded as output.
 */
import { replaceMethod } from '../channels/wrap-method.ts';
import { loggedErrorOf } from '../errors-seen.ts';
import { levelOf } from './log-lines.ts';
import { type LogObserverParts, recordLog, writeRecorded } from './logs.ts';

type Write = (this: WinstonLogger, info: unknown, ...rest: unknown[]) => unknown;

interface WinstonLogger {
  isLevelEnabled?: (level: string) => boolean;
}

export interface WinstonLibrary {
  Logger: { prototype: object };
}

/** The values after the message, as winston stores them. */
const SPLAT = Symbol.for('splat');
const PLACEHOLDER = /%[sdifjoOc]/;

function splatOf(info: Record<string | symbol, unknown>): unknown[] {
  const given = info[SPLAT];
  return Array.isArray(given) ? (given as unknown[]) : [];
}

function argsOf(info: Record<string | symbol, unknown>): unknown[] {
  const { level: _level, message, label: _label, timestamp: _timestamp, ...rest } = info;
  const given = info[SPLAT];
  const filled = typeof message === 'string' && PLACEHOLDER.test(message) && Array.isArray(given);
  const values = filled ? (given as unknown[]) : [];
  const beside =
    Object.keys(rest).length === 0 || values.some((value) => typeof value === 'object') ? [] : [rest];
  return [message, ...values, ...beside];
}

export function observeWinston(
  library: WinstonLibrary,
  { tracker, gate, findCaller }: LogObserverParts,
): { close(): void } {
  const prototype = library.Logger.prototype as { write: Write };
  const original = prototype.write;
  let closed = false;

  function note(logger: WinstonLogger, info: unknown): void {
    const context = tracker.current();
    if (context === undefined || typeof info !== 'object' || info === null) return;
    const line = info as Record<string | symbol, unknown>;
    const { level, label } = line;
    if (typeof level !== 'string' || logger.isLevelEnabled?.(level) === false) return;
    const known = levelOf(level) ?? 'info';
    recordLog(context, {
      level: known,
      channel: typeof label === 'string' ? label : 'winston',
      args: argsOf(line),
      error: loggedErrorOf([line, ...splatOf(line)]),
      called: findCaller?.called({ skip: 'winston' }) ?? null,
    });
  }

  const write: Write = function (info, ...rest) {
    const pass = (): unknown => Reflect.apply(original, this, [info, ...rest]);
    return closed || gate.writing ? pass() : writeRecorded(gate, () => note(this, info), pass);
  };
  const restore = replaceMethod(prototype, 'write', write);
  return {
    close() {
      closed = true;
      restore();
    },
  };
}
