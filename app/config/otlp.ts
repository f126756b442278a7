/** Settings of the export to OpenTelemetry, by the names and in the forms of its specification. */
import type { ProfilerSettings } from './settings.ts';

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
