/** Reads a stored profile as it is stored, with all that it refers to, for an export. */
import { sharedIdsOf } from './complete-profile.ts';
import { PROFILE_KINDS } from './context.ts';
import type { ExportedProfile } from './exported-profile.ts';
import type { ProfileDocument } from './profile.ts';
import type { ProfileStorage } from './storage.ts';

/** null if no stored profile has the token. Rejects as the storage does. */
export async function readExported(
  storage: Pick<ProfileStorage, 'read' | 'find' | 'readShared'>,
  token: string,
): Promise<ExportedProfile | null> {
  const query = { token, kinds: PROFILE_KINDS, counted: false, limit: 1, offset: 0 } as const;
  const [found, listed] = await Promise.all([storage.read(token), storage.find(query)]);
  const [index] = listed.rows;
  const document = found?.document ?? null;
  if (found === null || document === null || index === undefined) return null;
  const shared = await storage.readShared(sharedIdsOf(JSON.parse(document) as ProfileDocument));
  const parts = Array.from(shared, ([id, text]) => ({ id, text }));
  return { index, document, amendments: found.amendments, parts };
}
