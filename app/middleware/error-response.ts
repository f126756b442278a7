/** Status and headers that a thrown value asks for, read without trusting it; unreadable fields count as absent. */
import { field, isObject } from '../profiler/record/safe-read.ts';
import { STATUS_CODES, validateHeaderName, validateHeaderValue } from '../node-http.ts';
import { escapeHtml } from '../profiler/escape-html.ts';

export interface ErrorResponse {
  status: number;
  message: string;
  /** Whether its author meant the message to be shown. */
  expose: boolean;
  headers: readonly (readonly [string, string | readonly string[]])[];
}

const MOST_HEADERS = 50;
const LONGEST_HEADER = 8192;
const LONGEST_MESSAGE = 10_000;
/** Framing, content and what every error response sets itself. */
const NOT_ITS_OWN =
  /^(?:content-.*|transfer-encoding|connection|keep-alive|trailer|upgrade|te|date|set-cookie|etag|last-modified|accept-ranges|expires|cache-control|x-robots-tag|x-powered-by|x-debug-.*|x-previous-debug-token)$/;

function propertyOf(error: unknown, name: string): unknown {
  return isObject(error) ? field(error, name) : undefined;
}

function isErrorStatus(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 400 && (value as number) <= 599;
}

function readMessage(error: unknown): string {
  const message = propertyOf(error, 'message');
  let text: string;
  try {
    if (typeof message === 'string') text = message;
    else if (typeof error === 'object' && error !== null) text = 'An object without a message was thrown.';
    else text = String(error);
  } catch {
    text = 'The thrown value can’t be read.';
  }
  return text.length > LONGEST_MESSAGE ? `${text.slice(0, LONGEST_MESSAGE)}…` : text;
}

function readHeader(name: string, value: unknown): readonly [string, string | readonly string[]] | null {
  const lower = name.toLowerCase();
  if (NOT_ITS_OWN.test(lower)) return null;
  const values: unknown[] = Array.isArray(value) ? value : [value];
  const texts = values.filter((item) => typeof item === 'string' || typeof item === 'number').map(String);
  if (texts.length === 0 || texts.length !== values.length || texts.join().length > LONGEST_HEADER)
    return null;
  try {
    validateHeaderName(lower);
    for (const text of texts) validateHeaderValue(lower, text);
  } catch {
    return null;
  }
  return [lower, texts.length === 1 ? (texts[0] ?? '') : texts];
}

function readHeaders(error: unknown): ErrorResponse['headers'] {
  const headers = propertyOf(error, 'headers');
  if (typeof headers !== 'object' || headers === null) return [];
  try {
    return Object.keys(headers)
      .slice(0, MOST_HEADERS)
      .map((name) => readHeader(name, field(headers, name)))
      .filter((header) => header !== null);
  } catch {
    return [];
  }
}

export function responseOfError(error: unknown): ErrorResponse {
  const status = [propertyOf(error, 'status'), propertyOf(error, 'statusCode')].find(isErrorStatus) ?? 500;
  return {
    status,
    message: readMessage(error),
    expose: propertyOf(error, 'expose') === true,
    headers: readHeaders(error),
  };
}

export function shortPage(
  { status, message }: { status: number; message: string },
  { showMessage, link = null }: { showMessage: boolean; /** Address of the profile. */ link?: string | null },
): string {
  const title = escapeHtml(`${status} ${STATUS_CODES[status] ?? 'Error'}`);
  const text = showMessage && message !== '' ? `<p>${escapeHtml(message)}</p>` : '';
  const more = link === null ? '' : `<p><a href="${escapeHtml(link)}">Profile of this request</a></p>`;
  return `<!DOCTYPE html><html lang="en"><meta charset="UTF-8"><meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark"><title>${title}</title><h1>${title}</h1>${text}${more}</html>\n`;
}
