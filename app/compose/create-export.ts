/** Export to OpenTelemetry: who exports, and the exporter, if the settings ask for it. */
import { type OtlpTarget, resourceAttributes } from '../config/otlp.ts';
import type { ProfilerSettings } from '../config/settings.ts';
import { createExporter, type Exporter } from '../export/exporter.ts';
import type { ExportedBy } from '../export/otlp-model.ts';
import { packageVersion } from '../paths.ts';
import type { ProfileDocument } from '../profiler/profile.ts';
import type { Core } from './create-core.ts';

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

export function createExport(
  target: OtlpTarget | null,
  settings: ProfilerSettings,
  { tracker, recorder }: Pick<Core, 'tracker' | 'recorder'>,
  warn: (sentence: string) => void,
): Exporter | undefined {
  if (target === null) return undefined;
  if (settings.otlpProtocol !== 'http/json')
    warn(`OTEL_EXPORTER_OTLP_PROTOCOL is "${settings.otlpProtocol}"; profiles are sent as http/json.`);
  return createExporter({
    ...target,
    by: exportedBy(settings),
    profileOf: (text) => recorder.conclude(JSON.parse(text) as ProfileDocument, recorder),
    unobserved: (work) => tracker.unobserved(work),
    warn,
  });
}
