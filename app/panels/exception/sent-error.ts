/** The error that a 5xx contains: many frameworks catch errors and respond with their stack, without logging them or passing them on. */
import type { ResponseFact } from '../../profiler/record/facts.ts';
import { decodePreview } from '../../profiler/http-text.ts';
import { rawHeader } from '../../profiler/record/raw-headers.ts';

const IN_JSON = '\\n    at ';
const FRAME = /^\s*at .*(?::\d+:\d+\)?| \(<anonymous>\))\s*$/;
const NAME = /^\s*(?:Uncaught |\[?cause\]?: )?([A-Za-z_$][\w$.]{0,100}): /;

const ENTITIES: Readonly<Record<string, string>> = {
  nbsp: ' ',
  lt: '<',
  gt: '>',
  quot: '"',
  '#39': "'",
  amp: '&',
};

function isEscaped(text: string, index: number): boolean {
  let before = index;
  while (before > 0 && text[before - 1] === '\\') before--;
  return (index - before) % 2 === 1;
}

function jsonStringAt(text: string, index: number): string | null {
  let start = text.lastIndexOf('"', index);
  while (start > 0 && isEscaped(text, start)) start = text.lastIndexOf('"', start - 1);
  let end = text.indexOf('"', index);
  while (end !== -1 && isEscaped(text, end)) end = text.indexOf('"', end + 1);
  const inside = end === -1 ? text.slice(start + 1).replace(/\\[^\\]{0,5}$/, '') : text.slice(start + 1, end);
  try {
    return JSON.parse(`"${inside}"`) as string;
  } catch {
    return null;
  }
}

function textOfPage(html: string): string {
  return html
    .replace(/<(?:br|li|p|div|pre|h\d)\b[^<>]*>/gi, '\n')
    .replace(/<[^<>]*>/g, '')
    .replace(/&(nbsp|lt|gt|quot|#39|amp);/g, (_entity, name: string) => ENTITIES[name] ?? '');
}

interface Stack {
  head: string;
  frames: string[];
}

function lastStackIn(text: string): Stack | null {
  const lines = text.replace(/ \}.*$/gm, '').split('\n');
  const end = lines.findLastIndex((line) => FRAME.test(line)) + 1;
  const before = lines.slice(0, end).findLastIndex((line) => !FRAME.test(line));
  if (end === 0 || before === -1) return null;
  const start = lines.slice(0, before).findLastIndex((line) => FRAME.test(line)) + 1;
  return stackIn(lines.slice(start, end).join('\n'));
}

function stackIn(text: string): Stack | null {
  const lines = text.split('\n');
  const first = lines.findIndex((line) => FRAME.test(line));
  if (first < 1) return null;
  const after = lines.slice(first).findIndex((line) => !FRAME.test(line));
  const frames = lines.slice(first, after === -1 ? undefined : first + after);
  const named = lines.slice(0, first).findLastIndex((line) => NAME.test(line));
  const head = lines
    .slice(named === -1 ? first - 1 : named, first)
    .join('\n')
    .trim();
  return head === '' ? null : { head, frames };
}

/** Of JSON-RPC: an error of the procedure, not of the call. tRPC sends it too, within a 207 if it was one of several calls. */
const INTERNAL_ERROR = '"code":-32603';

/** An error like the one whose stack is in the body of a 5xx, or in that of a procedure that failed behind a 2xx; null if there is none. */
export function errorInBody(response: ResponseFact): Error | null {
  const { status, rawHeaders, preview } = response;
  const isCalled = status >= 200 && status < 300 && preview.includes(INTERNAL_ERROR);
  if ((status < 500 && !isCalled) || response.isErrorPage === true) return null;
  const contentType = rawHeader(rawHeaders, 'content-type');
  const text = decodePreview(preview, { contentType, encoding: rawHeader(rawHeaders, 'content-encoding') });
  if (text === null) return null;
  const at = text.indexOf(IN_JSON, isCalled ? text.indexOf(INTERNAL_ERROR) : 0);
  const isPage = at === -1 && !isCalled && text.includes('at ');
  const found = at !== -1 ? jsonStringAt(text, at) : isPage ? textOfPage(text) : null;
  const stack = found === null ? null : stackIn(found);
  return stack === null ? null : errorOf(stack);
}

/** An error like the one whose stack a logger wrote as text, in the last line that has one; null if there is none. */
export function errorInLogs(lines: readonly { message: string }[]): Error | null {
  for (const { message } of lines.toReversed()) {
    const stack = message.includes('\n') ? lastStackIn(message) : null;
    if (stack !== null) return errorOf(stack);
  }
  return null;
}

/** An error behind what a logger put in front of it: `GET /orders failed with status 500. TypeError: …`. */
const NAME_WITHIN = /^.{0,300}?\b([A-Z][\w$]{0,100}(?:Error|Exception)|Error): /;

function errorOf(stack: Stack): Error {
  const name = NAME_WITHIN.exec(stack.head) ?? NAME.exec(stack.head);
  const message = name === null ? stack.head : stack.head.slice(name[0].length);
  return Object.assign(new Error(message), {
    name: name?.[1] ?? 'Error',
    stack: `${name?.[1] ?? 'Error'}: ${message}\n${stack.frames.join('\n')}`,
  });
}
