/** Sends the request of a profile again and waits for the new profile: one mechanism for the page and for agents. */
import { setTimeout as sleep } from 'node:timers/promises';
import { createError } from '../../../errors.ts';
import type { FoundProfile } from '../../../profiler/read/profiles.ts';
import type { PageServices } from '../page-services.ts';
import { type GivenValues, prepareReplay, type Replay, sendReplay } from './replay-request.ts';
import { attachForValues } from '../values-form.ts';

const RECORDED_WITHIN_MS = 5000;
const ASK_EVERY_MS = 50;
const NAME = 'replay';

/** What a request is sent again for: besides comparing, a CPU profile, or the values where it fails. */
export type Purpose = 'compare' | 'cpu' | 'values';

export interface ReplayMark {
  of: string;
  without: string[];
}

export function replayMarkOf({ [NAME]: mark }: FoundProfile['amendments']): ReplayMark | null {
  return (mark as ReplayMark | undefined) ?? null;
}

export function repetitionOf(a: FoundProfile, b: FoundProfile): (ReplayMark & { by: 'A' | 'B' }) | null {
  for (const [by, one, other] of [
    ['B', b, a],
    ['A', a, b],
  ] as const) {
    const mark = replayMarkOf(one.amendments);
    if (mark?.of === other.profile.token) return { ...mark, by };
  }
  return null;
}

/** Another process may have served it, so that it is stored a moment later. */
async function readEnded(profiles: PageServices['profiles'], token: string): Promise<FoundProfile | null> {
  const deadline = performance.now() + RECORDED_WITHIN_MS;
  for (;;) {
    const found = await profiles.read(token);
    if (found?.profile.state === 'final' || performance.now() > deadline) return found;
    await sleep(ASK_EVERY_MS);
  }
}

/**
 * `server`: its address; null if it listens on no TCP port. `caught`: also values of errors that the code catches. Rejects with BAD_REQUEST if
 * the request can't be sent or gets no response. `after`: null if it was not recorded.
 */
export async function replayProfile(
  services: PageServices,
  { profile }: FoundProfile,
  options: {
    purpose: Purpose;
    caught: boolean;
    given?: GivenValues;
    server: string | null;
    signal: AbortSignal;
  },
): Promise<{ replay: Replay; status: number; after: FoundProfile | null }> {
  const { profiles, cpu } = services;
  const { purpose, caught, given, server, signal } = options;
  if (server === null)
    throw createError('BAD_REQUEST', [
      'The application listens on no TCP port, so nothing can be sent to it.',
    ]);
  const replay = prepareReplay(profile, given);
  if (replay.missing.length > 0)
    throw createError('BAD_REQUEST', [
      'Its address or body has masked values, so it can’t be sent again without them.',
    ]);
  if (purpose === 'cpu') cpu?.arm(profile);
  const attached = purpose === 'values' ? await attachForValues(services, profile, caught) : null;
  try {
    const { origin } = profile;
    const asked = attached?.header ?? (purpose === 'cpu' ? 'cpu' : '1');
    const { status, token } = await sendReplay(replay, { server, origin, signal, profile: asked });
    const after = token === null ? null : await readEnded(profiles, token);
    if (after === null) return { replay, status, after };
    const mark: ReplayMark = { of: profile.token, without: replay.masked };
    // Without a storage the two are compared all the same.
    await profiles.amend(after.profile.token, NAME, mark).catch(() => false);
    return { replay, status, after };
  } finally {
    attached?.release();
  }
}
