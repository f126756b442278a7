/** Opens an exported file on a page: all of it is checked before anything is stored, and nothing that is stored is replaced. */
import type { SharedValue } from './complete-profile.ts';
import { type ImportedProfile, readExportedLine } from './exported-profile.ts';
import { importProfiles } from './import-profiles.ts';
import type { Profile, ProfileDocument } from './profile.ts';
import type { ProfileStorage } from './storage.ts';
import { messageOf } from '../errors.ts';

/** Tokens of its profiles, or why nothing was stored, as a sentence. */
export type OpenedLines = { tokens: string[] } | { problem: string };

/** Throws if the profile can't be shown. */
export type CheckProfile = (profile: Profile, amendments: Record<string, unknown>) => void;

export interface OpenLinesOptions {
  storage: ProfileStorage;
  lines: readonly string[];
  /** A profile that is stored, queued or running here. */
  read: (token: string) => Promise<{ profile: Profile } | null>;
  complete: (document: ProfileDocument, shared: ReadonlyMap<string, SharedValue>) => Profile;
  check: CheckProfile;
}

interface ReadLines {
  parts: { text: string; id: string; value: SharedValue }[];
  profiles: { text: string; line: number; profile: ImportedProfile }[];
}

/** The command line imports more. */
const MOST_PROFILES = 100;

class FileProblem extends Error {}

function readLines(lines: readonly string[]): ReadLines {
  const result: ReadLines = { parts: [], profiles: [] };
  for (const [index, text] of lines.entries()) {
    if (text.trim() === '') continue;
    try {
      const read = readExportedLine(text);
      if ('part' in read)
        result.parts.push({ text, id: read.part.id, value: JSON.parse(read.part.text) as SharedValue });
      else result.profiles.push({ text, line: index + 1, profile: read.profile });
    } catch (error) {
      throw new FileProblem(`Line ${index + 1}: ${messageOf(error)}.`);
    }
  }
  const { length } = result.profiles;
  if (length === 0) throw new FileProblem('It has no profile.');
  if (length > MOST_PROFILES)
    throw new FileProblem(
      `It has ${length} profiles, more than ${MOST_PROFILES}: use express-hindsight import.`,
    );
  return result;
}

/** True: to be stored. False: it is here already. */
async function isNew(
  { profile }: ReadLines['profiles'][number],
  read: OpenLinesOptions['read'],
): Promise<boolean> {
  const { token, startedAt, process } = profile.index;
  const existing = await read(token);
  if (existing === null) return true;
  if (existing.profile.startedAt === startedAt && existing.profile.process === process) return false;
  throw new FileProblem(`Another request has the token ${token} here, and stays as it is.`);
}

function checkAll(
  { parts, profiles }: ReadLines,
  { complete, check }: Pick<OpenLinesOptions, 'complete' | 'check'>,
): void {
  const shared = new Map(parts.map(({ id, value }) => [id, value]));
  for (const { line, profile } of profiles) {
    try {
      check(complete(JSON.parse(profile.document) as ProfileDocument, shared), profile.amendments);
    } catch (error) {
      throw new FileProblem(`Line ${line}: the profile can’t be shown: ${messageOf(error).slice(0, 300)}`);
    }
  }
}

/** Rejects if the storage fails. */
export async function openLines(options: OpenLinesOptions): Promise<OpenedLines> {
  const { storage, lines, read } = options;
  try {
    const given = readLines(lines);
    checkAll(given, options);
    const fresh: string[] = [];
    for (const one of given.profiles) if (await isNew(one, read)) fresh.push(one.text);
    let problem: string | null = null;
    if (fresh.length > 0)
      await importProfiles({
        storage,
        lines: [...given.parts.map(({ text }) => text), ...fresh],
        takeClashes: () => [],
        // Its request may be older than what retention keeps.
        isPinned: true,
        onFailure: (_line, reason) => (problem = reason),
        onProgress: () => undefined,
      });
    return problem === null
      ? { tokens: given.profiles.map(({ profile }) => profile.index.token) }
      : { problem };
  } catch (error) {
    if (error instanceof FileProblem) return { problem: error.message };
    throw error;
  }
}
