import type { Bench } from './bench.ts';
import type { Figure } from './figure.ts';

/** One measurement of the report. */
export interface Row {
  name: string;
  what: string;
  run(bench: Bench): Promise<Figure[]>;
}

/** The machine was not quiet enough: what was measured says nothing. */
export class VoidRun extends Error {
  constructor(sentence: string) {
    super(sentence);
    this.name = 'VoidRun';
  }
}
