/** Settings of the export to OpenTelemetry, by the names and in the forms of its specification. */
import { ConfigError, type ProfilerSettings } from './settings.ts';
import { validateHeaderName, validateHeaderValue } from '../node-http.ts';

/** `name=value,…` with percent-encoded values; null if it is malformed. */
function pairsIn(text: string): Record<string, string> | null {
  try {
    return Object.fromEntries(
      text
        .split(',')
        .filter((item) => item.trim() !== '')
        .map((item) => {
          const at = item.indexOf('=');
          if (at < 1) throw new Error('no name');
          return [item.slice(0, at).trim(), decodeURIComponent(item.slice(at + 1).trim())];
        }),
    );
  } catch {
    return null;
  }
}

/** `service.name` and what else describes the service. A malformed text is ignored, as the specification says. */
export function resourceAttributes(
  settings: Pick<ProfilerSettings, 'serviceName' | 'resourceAttributes'>,
): Record<string, string> {
  const given = pairsIn(settings.resourceAttributes ?? '') ?? {};
  return {
    ...given,
    'service.name': settings.serviceName ?? given['service.name'] ?? 'unknown_service:node',
  };
}

export interface OtlpTarget {
  endpoint: string;
  headers: Readonly<Record<string, string>>;
  isCompressed: boolean;
}

function endpointOf(text: string): string {
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text))
    throw new ConfigError(
      'OTEL_EXPORTER_OTLP_ENDPOINT',
      `is "${text.replace(/^(\w+:\/\/)?[^/]*@/, '$1')}"; set an address such as http://localhost:4318.`,
    );
  const { origin, pathname } = new URL(text);
  return origin + pathname.replace(/\/+$/, '');
}

/** The message does not repeat the value, which may be a secret. */
function headersOf(text: string | null): Record<string, string> {
  const headers = pairsIn(text ?? '');
  try {
    if (headers === null) throw new Error('malformed');
    for (const [name, value] of Object.entries(headers)) {
      validateHeaderName(name);
      validateHeaderValue(name, value);
    }
    return headers;
  } catch {
    throw new ConfigError(
      'OTEL_EXPORTER_OTLP_HEADERS',
      'can’t be read; set name=value,name=value with percent-encoded values.',
    );
  }
}

function isCompressed(text: string): boolean {
  if (text === 'gzip' || text === 'none') return text === 'gzip';
  throw new ConfigError('OTEL_EXPORTER_OTLP_COMPRESSION', `is "${text}"; set it to gzip or none.`);
}

/** null: nothing is exported, and what the environment says to another exporter is not checked. Throws a ConfigError. */
export function otlpTarget(settings: ProfilerSettings): OtlpTarget | null {
  if (!settings.otlp) return null;
  return {
    endpoint: endpointOf(settings.otlpEndpoint),
    headers: headersOf(settings.otlpHeaders),
    isCompressed: isCompressed(settings.otlpCompression),
  };
}

/** Shorter texts are words, such as the name of a tenant. */
const SHORTEST_CREDENTIAL = 8;

/** Credentials among the headers for the collector, by name: values with a digit, as keys and tokens have; of `Bearer …` the token. */
export function headerSecrets(headers: string | null | undefined): Record<string, string> {
  const secrets: Record<string, string> = {};
  for (const [name, value] of Object.entries(pairsIn(headers ?? '') ?? {})) {
    const credential = value.split(' ').at(-1) ?? '';
    if (credential.length >= SHORTEST_CREDENTIAL && /\d/.test(credential)) secrets[name] = credential;
  }
  return secrets;
}
