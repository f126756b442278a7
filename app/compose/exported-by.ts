/** Who exports profiles to OpenTelemetry: the resource and the instrumentation scope. */
import { resourceAttributes } from '../config/otlp.ts';
import type { ProfilerSettings } from '../config/settings.ts';
import type { ExportedBy } from '../export/otlp-model.ts';
import { packageVersion } from '../paths.ts';

const NAME = 'express-hindsight';

export function exportedBy(settings: ProfilerSettings): ExportedBy {
  const version = packageVersion();
  return {
    resource: {
      'telemetry.sdk.name': NAME,
      'telemetry.sdk.language': 'nodejs',
      'telemetry.sdk.version': version,
      ...resourceAttributes(settings),
    },
    scope: { name: NAME, version },
  };
}
