/** The place of an error: the frame of the developer's own code that is nearest to its origin. */
import type { Thrown, ThrownFrame } from '../../profiler/record/thrown.ts';

export interface SourcePlace {
  link: number;
  frame: ThrownFrame;
  /** Index of its error among the members of the link; absent if it is the link itself. */
  member?: number;
}

/** From the root cause to the thrown error; if the chain has no such frame, as with `Promise.any`, among the members of its links. */
export function findPlace(thrown: Thrown): SourcePlace | null {
  return ownPlace(thrown, isShown) ?? memberPlace(thrown) ?? ownPlace(thrown, isOwn);
}

function ownPlace({ chain }: Thrown, wanted: (frame: ThrownFrame) => boolean): SourcePlace | null {
  for (let link = chain.length - 1; link >= 0; link--) {
    const frame = chain[link]?.frames.find(wanted);
    if (frame !== undefined) return { link, frame };
  }
  return null;
}

function memberPlace({ chain }: Thrown): SourcePlace | null {
  for (let link = chain.length - 1; link >= 0; link--) {
    for (const [member, error] of (chain[link]?.errors ?? []).entries()) {
      const found = ownPlace(error, isShown) ?? memberPlace(error);
      if (found !== null) return { link, frame: found.frame, member };
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
