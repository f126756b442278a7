/** The masking of a host: by its own redactor, else with the secrets and names that its options give. */
import { headerSecrets } from '../config/otlp.ts';
import { createRedactor, type Redactor } from '../profiler/redact.ts';
import type { ServiceOptions } from './profiler-options.ts';

export function hostRedactor(options: ServiceOptions): Redactor {
  if (options.redactor !== undefined) return options.redactor;
  return createRedactor({
    secrets: { ...options.secrets, ...headerSecrets(options.otlpHeaders) },
    names: options.secretNames,
  });
}
