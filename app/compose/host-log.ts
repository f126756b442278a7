/** What a profiler prints in its host: escaped, on standard error or as the host wants it, and the same entry once a minute. */
import { escapeLogEntry } from '../profiler/escape-controls.ts';
import { printError } from '../print.ts';
import { createErrorLog, createRepeatedLines } from './repeated-lines.ts';

export interface HostLog {
  /** Prints a sentence each time. */
  say(sentence: string): void;
  /** The same, once a minute. */
  warn(sentence: string): void;
  /** Prints the stack of a thrown value, masked, once a minute. */
  error(thrown: unknown): void;
  /** Prints how often entries came again. */
  close(): void;
}

export function createHostLog({
  print = (sentence) => {
    printError(`hindsight: ${sentence}\n`);
  },
  redactText,
}: {
  print?: ((sentence: string) => void) | undefined;
  redactText: (text: string) => string;
}): HostLog {
  const say = (sentence: string): void => {
    print(escapeLogEntry(sentence));
  };
  const warnings = createRepeatedLines({ what: 'warning', print: say });
  const errors = createErrorLog({ print: say, redactText });
  return {
    say,
    warn(sentence) {
      warnings.say(sentence, () => sentence);
    },
    error: errors.log,
    close() {
      errors.close();
      warnings.close();
    },
  };
}
