/** The parts of a multipart form in the order in which they came: a parser may have handled a file before the fields behind it were there. */
import type { Json } from '../../profiler/json.ts';
import type { ReceivedBody, ReceivedFile } from '../request/data.ts';

export type FormPart = { name: string; value: Json; file?: undefined } | { name: string; file: ReceivedFile };

const MOST = 500;

function isOfName(part: string, name: string): boolean {
  return part === name || part.startsWith(`${name}[`);
}

/** Of each part of this form whose beginning was recorded. */
export function partNames(
  preview: Buffer,
  { contentType, fields, files }: Pick<ReceivedBody, 'contentType' | 'fields' | 'files'>,
): string[] {
  const [, quoted, plain] = /;\s*boundary=(?:"([^"]+)"|([^\s;]+))/i.exec(contentType ?? '') ?? [];
  const boundary = quoted ?? plain;
  if (boundary === undefined) return [];
  const known = [...(fields ?? []).map(({ name }) => name), ...files.map(({ field }) => field)];
  const parts = preview.toString().split(`--${boundary}\r\n`).slice(1, MOST);
  return parts.flatMap((part) => {
    const [headers = ''] = part.split('\r\n\r\n', 1);
    const [, name = ''] = /^content-disposition:.*?;\s*name="([^"]*)"/im.exec(headers) ?? [];
    return known.some((one) => isOfName(name, one)) ? [name] : [];
  });
}

/** Parts whose beginning was not recorded come last: it is the beginning of the body that was. */
export function formParts({ fields, files, partNames: names = [] }: ReceivedBody): FormPart[] {
  const left: FormPart[] = [...(fields ?? []), ...files.map((file) => ({ name: file.field, file }))];
  const ordered = names.flatMap((part) => {
    const at = left.findIndex(({ name }) => isOfName(part, name));
    return at === -1 ? [] : left.splice(at, 1);
  });
  return [...ordered, ...left];
}

/** `sent before folder, note`: a parser that stores the file had not read these fields yet. */
export function sentBefore(body: ReceivedBody, file: ReceivedFile): string | null {
  const parts = formParts(body);
  const at = parts.findIndex((part) => part.file === file);
  const names = parts.slice(at + 1).flatMap((part) => (part.file === undefined ? [part.name] : []));
  return names.length === 0 ? null : `sent before ${names.join(', ')}`.slice(0, 120);
}

/** A text that was read as Latin-1, as it was sent: all its characters as bytes are UTF-8, and some of them not ASCII. null: it was not. */
export function readAsUtf8(text: string): string | null {
  if (!/[\u00c2-\u00f4][\u0080-\u00bf]/.test(text) || /[^\0-\u00ff]/.test(text)) return null;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(text, 'latin1'));
  } catch {
    return null;
  }
}
