/**
 * What a profiler prints in its host: escaped, on standard error or as the host wants it, and the same entry once a minute. And how it masks
 * what it records and prints.
 */
import { environmentSecrets, passwordsIn } from '../config.ts';
import { headerSecrets } from '../config/otlp.ts';
import { escapeLogEntry } from '../profiler/escape-controls.ts';
import { createRedactor, type Redactor } from '../profiler/masking/redact.ts';
import type { ServiceOptions } from './profiler-options.ts';
import { printError } from '../print.ts';
import { createErrorLog, createRepeatedLines } from './repeated-lines.ts';

export function createHostLog({
  print = (sentence) => {
    printError(`hindsight: ${sentence}\n`);
  },
  redactText,
}: {
  print?: ((sentence: string) => void) | undefined;
  redactText: (text: string) => string;
}) {
  const say = (sentence: string): void => {
    print(escapeLogEntry(sentence));
  };
  const warnings = createRepeatedLines({ what: 'warning', print: say });
  const errors = createErrorLog({ print: say, redactText });
  return {
    say,
    warn(sentence: string): void {
      warnings.say(sentence, () => sentence);
    },
    error: errors.log,
    close(): void {
      errors.close();
      warnings.close();
    },
  };
}

/** Passwords of development that are words: masking them would black out half of a profile. */
const WORDS = ['postgres', 'postgresql', 'password', 'passwort', 'development', 'localhost', 'hindsight'];

/** By the host's own redactor, else with the secrets of its environment, and the secrets and names that its options give. */
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
