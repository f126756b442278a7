/** The recorded request as a curl command. Headers that a proxy on the way wrote are left out. */
import type { RequestPanelData } from './data.ts';
import { curlLines, shellQuote, textBody } from '../shared/curl.ts';
import { formParts, readAsUtf8 } from '../shared/form-parts.ts';

const OF_PROXY = new Set([
  'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-port', 'x-forwarded-proto', 'x-forwarded-scheme', 'x-real-ip', 'x-scheme',
  'upgrade-insecure-requests',
]); // prettier-ignore

/** `"` and `\` have a meaning inside the quoted parts of curl's `--form`. */
function formQuote(text: string): string {
  return `"${text.replace(/[\\"]/g, '\\$&')}"`;
}

/**
 * What a client sent must not choose the files that curl reads: a folder in the name, `=@…` in the name of the field, and `;headers=@…` behind the
 * type would.
 */
function fileOption(field: string, { name, contentType }: { name: string; contentType: string }): string {
  const type = /^[\w.+-]{1,100}\/[\w.+-]{1,100}/.exec(contentType)?.[0];
  const file = `${field.replaceAll('=', '%3D')}=@${formQuote((readAsUtf8(name) ?? name).replace(/^.*[\\/]/s, ''))}`;
  return type === undefined ? file : `${file};type=${type}`;
}

function formOptions(body: NonNullable<RequestPanelData['body']>): string[] {
  return formParts(body).flatMap((part) => {
    if (part.file !== undefined) {
      return [`-F ${shellQuote(fileOption(part.name, part.file))}`];
    }
    return [part.value]
      .flat()
      .map(
        (item) =>
          `--form-string ${shellQuote(`${part.name}=${typeof item === 'string' ? item : JSON.stringify(item)}`)}`,
      );
  });
}

function isMultipart(data: RequestPanelData): boolean {
  return /^multipart\/form-data/i.test(data.body?.contentType ?? '');
}

/** Whether the command lacks the body that was sent: only its beginning was stored, or it is binary. */
export function leavesBodyOut(data: RequestPanelData): boolean {
  return data.body !== null && data.body.bytes > 0 && bodyOptions(data).length === 0;
}

function bodyOptions(data: RequestPanelData): string[] {
  const { body } = data;
  if (body === null) return [];
  if (isMultipart(data)) return formOptions(body);
  // A truncated body would be another request: the command mentions it and does not send it.
  return body.text === null || body.truncated ? [] : textBody(body.text, body.contentType);
}

function headersOf(data: RequestPanelData): RequestPanelData['headers'] {
  return data.headers.filter(
    ({ name }) => !OF_PROXY.has(name.toLowerCase()) && !(isMultipart(data) && /^content-type$/i.test(name)),
  );
}

export function toCurl(data: RequestPanelData): string[] {
  const { method, url, client } = data;
  const origin = client.origin ?? `${client.scheme}://localhost`;
  const request = { method, headers: headersOf(data), body: bodyOptions(data) };
  return url.startsWith('/')
    ? curlLines({ ...request, url: `${origin}${url}` })
    : curlLines({ ...request, url: `${origin}/`, more: [`--request-target ${shellQuote(url)}`] });
}
