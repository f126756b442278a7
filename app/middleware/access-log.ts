/** Writes one line per response to standard output. Secrets are masked; control characters are escaped. */
import type { IncomingMessage } from 'node:http';
import type { RequestHandler } from 'express';
import type morganPackage from 'morgan';
import { requirePackage } from '../paths.ts';
import { originOf } from './attach-origin.ts';

const morgan = requirePackage('morgan') as typeof morganPackage;

export interface AccessLogOptions {
  redactText: (text: string) => string;
  write: (line: string) => void;
}

const LONGEST_URL = 2000;

/** Control characters, C1 included, and line separators -> `\xNN`: a terminal would execute them. */
export function escapeControls(text: string): string {
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g, (character) => {
    const code = character.charCodeAt(0).toString(16);
    return code.length <= 2 ? `\\x${code.padStart(2, '0')}` : `\\u${code}`;
  });
}

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
