/** The place an error is about: the frame of the developer's own code that stands nearest to where it began. */
import type { Thrown, ThrownFrame } from '../../profiler/thrown.ts';

export interface SourcePlace {
  /** Index in the cause chain. */
  link: number;
  frame: ThrownFrame;
}

/** Searches from the root of the chain to what was thrown; members of an AggregateError where the chain itself has none. */
export function findPlace(thrown: Thrown): SourcePlace | null {
  for (const wanted of [isShown, isOwn]) {
    for (let link = thrown.chain.length - 1; link >= 0; link--) {
      const frame = thrown.chain[link]?.frames.find(wanted);
      if (frame !== undefined) return { link, frame };
    }
  }
  return null;
}

function isOwn({ kind }: ThrownFrame): boolean {
  return kind === 'own';
}

function isShown(frame: ThrownFrame): boolean {
  return isOwn(frame) && frame.excerpt !== null;
}

/** `src/payments/money.ts:12` */
export function nameOfPlace({ frame }: SourcePlace): string | null {
  if (frame.file === null) return null;
  return frame.line === null ? frame.file : `${frame.file}:${frame.line}`;
}
