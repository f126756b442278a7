/** Helpers of rules about HTTP: headers by name, with the id of their row, layers by index, the proxy in front. */
import type { KeptRequest } from '../../panels/request/data.ts';
import type { KeptRouting } from '../../panels/routing/data.ts';
import { type HeaderStep, layerName } from '../../panels/shared/header-authors.ts';
import { dataOf } from '../../panels/shared/panel-data.ts';
import type { RanLayer } from '../../panels/shared/ran-layers.ts';
import type { Finding, FixCode } from '../../profiler/read/finding.ts';
import type { Profile } from '../../profiler/profile.ts';
import { namedHeader } from '../../profiler/record/raw-headers.ts';

export function isSuccess(status: number | null): status is number {
  return status !== null && status >= 200 && status < 300;
}

export interface SentHeader {
  value: string;
  anchor: string;
}

export function sentHeaders({ response }: KeptRequest, name: string): SentHeader[] {
  return (response?.headers ?? []).flatMap((row, index) =>
    row.name.toLowerCase() === name ? { value: row.value, anchor: `rh-${index + 1}` } : [],
  );
}

export function sentHeader(request: KeptRequest, name: string): SentHeader | null {
  return sentHeaders(request, name)[0] ?? null;
}

export function sentNames({ response }: KeptRequest): string[] {
  return (response?.headers ?? []).map(({ name }) => name);
}

export function receivedHeader({ headers }: KeptRequest, name: string): string | null {
  return namedHeader(headers, name);
}

export function layerAt({ layers }: KeptRouting, index: number | null | undefined): RanLayer | undefined {
  return index === undefined || index === null ? undefined : layers[index];
}

export function lastStepOf({ response }: KeptRequest, anchor: string): HeaderStep | undefined {
  return response?.setBy?.sent[Number(anchor.slice('rh-'.length)) - 1]?.at(-1);
}

export function authorOf(
  request: KeptRequest,
  routing: KeptRouting | undefined,
  anchor: string,
): RanLayer | undefined {
  return routing === undefined ? undefined : layerAt(routing, lastStepOf(request, anchor)?.layer);
}

export function placeOfHeader(
  { request, routing }: { request: KeptRequest; routing?: KeptRouting },
  anchor: string | undefined,
): string | null | undefined {
  const place = anchor === undefined ? undefined : lastStepOf(request, anchor)?.place;
  const author = anchor === undefined ? undefined : authorOf(request, routing, anchor);
  return place ?? author?.source ?? routing?.route?.source;
}

export function nameOfLayer(layer: RanLayer | undefined): string {
  return layer === undefined ? 'code outside any middleware' : layerName(layer);
}

/** The proxy says https but is not trusted, so the request counts as http. */
export function isUntrustedHttps(request: KeptRequest): boolean {
  if (request.client.trusted || request.client.scheme === 'https') return false;
  return /^\s*https\b/i.test(receivedHeader(request, 'x-forwarded-proto') ?? '');
}

export function sentValue(profile: Profile, name: string): string {
  return (dataOf(profile, 'request')?.response?.headers ?? [])
    .filter((header) => header.name.toLowerCase() === name)
    .map(({ value }) => value)
    .join(', ');
}

export function headerAt({ anchor = '' }: Finding, profile: Profile): string | null {
  return (
    (dataOf(profile, 'request')?.response?.headers ?? [])[
      Number(anchor.slice('rh-'.length)) - 1
    ]?.name.toLowerCase() ?? null
  );
}

/** The first of these directives that a Content-Security-Policy has. */
export function policyDirective(
  policy: string,
  names: readonly string[],
): { name: string; value: string } | null {
  const directives = policy.split(/[;,]/).map((part) => {
    const [name = '', ...values] = part.trim().split(/\s+/);
    return { name: name.toLowerCase(), value: values.join(' ') };
  });
  const found = names.map((name) => directives.find((one) => one.name === name));
  return found.find((one) => one !== undefined) ?? null;
}

export function directivesIn(value: string): string[] {
  return value
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

export function headerCode(name: string, values: readonly string[], assumes: string): FixCode {
  return { language: 'http', text: `${name}: ${values.join(', ')}`, assumes };
}
