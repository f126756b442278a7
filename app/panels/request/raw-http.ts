/** A recorded request as the lines that went over the wire, for tools that read them (`.http` files, proxies, netcat). */
import type { RequestPanelData } from './data.ts';

/** Longer bodies are mentioned, not included. */
const LONGEST_BODY = 4000;

/** Without line breaks, which would begin another header. */
function oneLine(text: string): string {
  return text.replace(/[\r\n]+/g, ' ');
}

export interface RawHttp {
  lines: string[];
  /** Why the body is missing; null if it is included, or none was sent. */
  bodyLeftOut: string | null;
}

export function toHttp(data: RequestPanelData): RawHttp {
  const { body, method, url, httpVersion, headers } = data;
  const head = [
    `${oneLine(method)} ${oneLine(url)} HTTP/${httpVersion}`,
    ...headers.map(({ name, value }) => `${oneLine(name)}: ${oneLine(value)}`),
    '',
  ];
  if (body === null || body.bytes === 0) return { lines: head, bodyLeftOut: null };
  if (body.text === null) {
    const isForm = /^multipart\//i.test(body.contentType ?? '');
    return {
      lines: head,
      bodyLeftOut: isForm ? 'parts of a form are not recorded as they were sent' : 'it is binary',
    };
  }
  if (body.truncated) return { lines: head, bodyLeftOut: 'only its beginning was recorded' };
  if (body.text.length > LONGEST_BODY) return { lines: head, bodyLeftOut: 'it is long; see above' };
  return { lines: [...head, ...body.text.split('\n')], bodyLeftOut: null };
}
