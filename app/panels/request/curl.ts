/**
 * A recorded request as a curl command for a POSIX shell, one option per line. Recorded text is in single quotes, in which a shell
 * interprets nothing. `-X` is used only if curl would choose another method. Headers that curl or the proxy writes are left out; masked
 * values stay masked.
 */
import type { RequestPanelData } from './data.ts';
import { shellQuote } from '../shared/shell.ts';

/** Written by curl, or by a proxy on the way. */
const LEFT_OUT = new Set([
  'host', 'content-length', 'connection', 'transfer-encoding', 'keep-alive', 'expect', 'upgrade-insecure-requests',
  'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-port', 'x-forwarded-proto', 'x-forwarded-scheme', 'x-real-ip', 'x-scheme',
]); // prettier-ignore

/** `"` and `\` have a meaning inside the quoted parts of curl's `--form`. */
function formQuote(text: string): string {
  return `"${text.replace(/[\\"]/g, '\\$&')}"`;
}

function formOptions(body: NonNullable<RequestPanelData['body']>): string[] {
  return [
    ...(body.fields ?? []).flatMap(({ name, value }) =>
      (Array.isArray(value) ? value : [value]).map(
        (item) =>
          `--form-string ${shellQuote(`${name}=${typeof item === 'string' ? item : JSON.stringify(item)}`)}`,
      ),
    ),
    ...body.files.map(
      ({ field, name, contentType }) =>
        `-F ${shellQuote(`${field}=@${formQuote(name)};type=${contentType}`)}`,
    ),
  ];
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
  if (body.text === null || body.truncated) return [];
  // curl would add the type of a form.
  const untyped = body.contentType === null ? [`-H ${shellQuote('Content-Type:')}`] : [];
  return [...untyped, `--data-raw ${shellQuote(body.text)}`];
}

function methodOption(method: string, hasData: boolean): string[] {
  if (method === 'HEAD' && !hasData) return ['--head'];
  if (method === (hasData ? 'POST' : 'GET')) return [];
  return [`-X ${/^[A-Z]+$/.test(method) ? method : shellQuote(method)}`];
}

function headerOptions(data: RequestPanelData): string[] {
  return data.headers
    .filter(({ name }) => !LEFT_OUT.has(name.toLowerCase()))
    .filter(({ name }) => name.toLowerCase() !== 'accept-encoding')
    .filter(({ name }) => !(isMultipart(data) && name.toLowerCase() === 'content-type'))
    .map(({ name, value }) => `-H ${shellQuote(value === '' ? `${name};` : `${name}: ${value}`)}`);
}

function addressOptions({ url, client }: RequestPanelData): string[] {
  const origin = client.origin ?? `${client.scheme}://localhost`;
  if (!url.startsWith('/')) return [shellQuote(`${origin}/`), `--request-target ${shellQuote(url)}`];
  return [
    shellQuote(`${origin}${url}`),
    ...(/[[\]{}]/.test(url) ? ['--globoff'] : []),
    ...(/\/\.{1,2}(?:[/?]|$)/.test(url) ? ['--path-as-is'] : []),
  ];
}

export function toCurl(data: RequestPanelData): string[] {
  const body = bodyOptions(data);
  const compressed = data.headers.some(({ name, value }) => /^accept-encoding$/i.test(name) && value !== '');
  const [address = '', ...rest] = addressOptions(data);
  const options = [
    ...rest,
    ...methodOption(data.method, body.length > 0),
    ...headerOptions(data),
    ...(compressed ? ['--compressed'] : []),
    ...body,
  ];
  const lines = [`curl ${address}`, ...options.map((option) => `  ${option}`)];
  return lines.map((line, index) => (index < lines.length - 1 ? `${line} \\` : line));
}
