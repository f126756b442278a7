/** Writes one line per response to standard output. Secrets are masked; control characters are escaped. */
import type { IncomingMessage } from 'node:http';
import type { RequestHandler } from 'express';
import type morganPackage from 'morgan';
import { requirePackage } from '../../paths.ts';
import { escapeControls } from '../../profiler/escape-controls.ts';
import { originOf } from '../../middleware/attach-origin.ts';

const morgan = requirePackage('morgan') as typeof morganPackage;

export interface AccessLogOptions {
  redactText: (text: string) => string;
  write: (line: string) => void;
}

const LONGEST_URL = 2000;

function urlOf(req: IncomingMessage): string {
  return 'originalUrl' in req && typeof req.originalUrl === 'string' ? req.originalUrl : (req.url ?? '-');
}

/** Only after masking: half a secret would not be recognised. */
function shorten(url: string): string {
  return url.length > LONGEST_URL ? `${url.slice(0, LONGEST_URL)}…` : url;
}

export function createAccessLog({ redactText, write }: AccessLogOptions): RequestHandler {
  const line: morganPackage.FormatFn = (tokens, req, res) => {
    const resolved = originOf(req);
    const fields = [
      resolved?.origin.clientAddress ?? tokens['remote-addr']?.(req, res) ?? '-',
      req.method ?? '-',
      shorten(redactText(urlOf(req))),
      tokens.status?.(req, res) ?? 'aborted',
      tokens['response-time']?.(req, res) ?? '-',
      'ms',
      redactText(resolved?.requestId ?? '-'),
    ];
    return escapeControls(fields.join(' '));
  };
  return morgan(line, { stream: { write } });
}
