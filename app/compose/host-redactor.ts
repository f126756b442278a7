/** The masking of a host: by its own redactor, else with the secrets of its environment, and the secrets and names that its options give. */
import { environmentSecrets, passwordsIn } from '../config.ts';
import { headerSecrets } from '../config/otlp.ts';
import { createRedactor, type Redactor } from '../profiler/redact.ts';
import type { ServiceOptions } from './profiler-options.ts';

/** Passwords of development that are words: masking them would black out half of a profile. */
const WORDS = ['postgres', 'postgresql', 'password', 'passwort', 'development', 'localhost', 'hindsight'];

export function hostRedactor(options: ServiceOptions): Redactor {
  if (options.redactor !== undefined) return options.redactor;
  const passwords = [options.password, ...passwordsIn(options.databaseUrl)];
  return createRedactor({
    secrets: {
      ...environmentSecrets(),
      ...Object.fromEntries(passwords.map((value, at) => [`password ${at}`, value ?? ''])),
      ...options.secrets,
      ...headerSecrets(options.otlpHeaders),
    },
    names: options.secretNames,
    publicValues: WORDS,
  });
}
