/** Settings -> where the export to OpenTelemetry sends what. */
import { otlpTarget } from '../config/otlp.ts';
import type { ProfilerSettings } from '../config/settings.ts';
import type { OtlpOptions } from '../export/otlp-exporter.ts';
import { exportedBy } from './exported-by.ts';

/** undefined: nothing is exported. Throws a ConfigError. */
export function otlpOptions(settings: ProfilerSettings): OtlpOptions | undefined {
  const target = otlpTarget(settings);
  return target === null ? undefined : { ...target, by: exportedBy(settings) };
}
