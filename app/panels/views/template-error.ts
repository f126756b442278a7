/** The message of a failed EJS template -> place, surrounding lines and the message itself. Messages of other engines are unchanged. */
export interface TemplateError {
  message: string;
  /** `/app/views/orders/show.ejs:12`; null if the message does not contain it. */
  place: string | null;
  lines: { number: number; text: string; failed: boolean }[];
}

const HEAD = /^(.{1,1000}?):(\d{1,7})$/;
const LINE = /^ *(>>)? *(\d{1,7})\|(?: (.*))?$/;

export function readTemplateError(error: string): TemplateError {
  const [first = '', ...rest] = error.split('\n');
  const head = HEAD.exec(first.trim());
  const lines: TemplateError['lines'] = [];
  let at = 0;
  for (; at < rest.length; at++) {
    const found = LINE.exec(rest[at] ?? '');
    if (found === null) break;
    lines.push({ number: Number(found[2]), text: found[3] ?? '', failed: found[1] !== undefined });
  }
  if (head === null || lines.length === 0) return { message: error, place: null, lines: [] };
  const message = rest.slice(at).join('\n').trim();
  return { message: message === '' ? first : message, place: `${head[1] ?? ''}:${head[2] ?? ''}`, lines };
}
