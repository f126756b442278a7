/**
 * A stored profile as lines of JSON that another storage can take: the values that it shares with others, one line each, then the profile.
 * Lines are read back with distrust: a file may be damaged, edited, or of another version.
 */
import { sharedIdsOf } from './complete-profile.ts';
import { PROFILE_KINDS, type ProfileKind } from './context.ts';
import type { NavigationHints } from './navigation-hints.ts';
import { PROFILE_VERSION, type ProfileDocument } from './profile.ts';
import { indexOf, type ProfileIndex } from './profile-index.ts';
import { sharedIdOf } from './shared-parts.ts';
import type { SharedPart, StoredProfile } from './storage.ts';
import { isRecord } from './json.ts';

export interface ExportedProfile extends StoredProfile {
  /** Late facts by name. */
  amendments: Readonly<Record<string, unknown>>;
  parts: readonly SharedPart[];
}

/** A profile without its parts, which are lines of their own. */
export interface ImportedProfile extends Omit<ExportedProfile, 'parts'> {
  /** Ids of the parts that it refers to. */
  refersTo: readonly string[];
}

export type ImportedLine = { part: SharedPart } | { profile: ImportedProfile };

const EXPORT_VERSION = 1;
const LONGEST_NAME = 64;
const LATEST_MOMENT = 8.64e15;
const TOKEN = /^[0-9a-f]{6}$/;
const PANEL_NAME = /^(?!__proto__$)[a-z_]+$/;
const SEVERITIES: readonly unknown[] = ['bad', 'warn', 'info'];

type Check = (value: unknown) => boolean;

const isText: Check = (value) => typeof value === 'string';
const isToken: Check = (value) => typeof value === 'string' && TOKEN.test(value);
const isAmount: Check = (value) => typeof value === 'number' && value >= 0 && value <= LATEST_MOMENT;
const isWhole: Check = (value) => isAmount(value) && Number.isInteger(value);
const optional =
  (check: Check): Check =>
  (value) =>
    value === undefined || value === null || check(value);

const isFinding: Check = (value) =>
  isRecord(value) && isText(value.label) && isText(value.sentence) && SEVERITIES.includes(value.severity);

/** What lists and pages read of every document; what panels store is checked by whoever shows it. */
const DOCUMENT: Readonly<Record<string, Check>> = {
  token: isToken,
  kind: (value) => PROFILE_KINDS.includes(value as ProfileKind),
  state: (value) => value === 'running' || value === 'final',
  method: isText,
  url: isText,
  clientAddress: isText,
  requestId: isText,
  process: isText,
  startedAt: isAmount,
  parent: optional(isToken),
  child: optional(isToken),
  origin: optional(isText),
  route: optional(isText),
  statusMessage: optional(isText),
  status: optional(isWhole),
  durationMs: optional(isAmount),
  error: optional((value) => isRecord(value) && isText(value.name) && isText(value.message)),
  findings: optional((value) => Array.isArray(value) && value.every(isFinding)),
  panels: (value) =>
    isRecord(value) &&
    Object.entries(value).every(([name, panel]) => PANEL_NAME.test(name) && isRecord(panel)),
};

/** Columns that are not in the document. */
const INDEX: Readonly<Record<string, Check>> = {
  queries: isWhole,
  location: optional(isText),
  referrer: optional(isText),
  dest: optional(isText),
};

/** The columns of INDEX, once they are checked. */
type CheckedIndex = Pick<ProfileIndex, 'queries'> & Partial<NavigationHints>;

function check(what: string, given: Record<string, unknown>, checks: Readonly<Record<string, Check>>): void {
  for (const [name, isRight] of Object.entries(checks))
    if (!isRight(given[name]))
      throw new Error(
        `its ${what} has no valid "${name}": ${String(JSON.stringify(given[name])).slice(0, 80)}`,
      );
}

/** Each ends with a line break. */
export function exportLines({ index, document, amendments, parts }: ExportedProfile): string {
  const head = JSON.stringify({ version: EXPORT_VERSION, index, amendments });
  // The document is JSON in one line already.
  const profile = `${head.slice(0, -1)},"document":${document}}`;
  return [...parts.map((part) => JSON.stringify({ part })), profile].map((line) => `${line}\n`).join('');
}

function partOf(given: unknown): SharedPart {
  if (!isRecord(given) || !isText(given.id) || !isText(given.text))
    throw new Error('its shared part has no text');
  const { id, text } = given as { id: string; text: string };
  // Other profiles may refer to the same id.
  if (sharedIdOf(text) !== id) throw new Error('its shared part was changed');
  return { id, text };
}

/** A request that ran when it was exported is over here. */
function ended(document: ProfileDocument): ProfileDocument {
  return document.state === 'final' ? document : { ...document, state: 'final', outcome: 'cut off' };
}

function profileOf({ index, document: given, amendments = {} }: Record<string, unknown>): ImportedProfile {
  if (!isRecord(given) || !isRecord(index) || !isRecord(amendments))
    throw new Error('it is no exported profile');
  const { version } = given;
  if (typeof version !== 'number' || !(version >= 1 && version <= PROFILE_VERSION))
    throw new Error(
      `its profile has version ${String(version)}; this package knows versions up to ${PROFILE_VERSION}`,
    );
  check('document', given, DOCUMENT);
  check('index', index, INDEX);
  if (Object.keys(amendments).some((name) => name.length > LONGEST_NAME))
    throw new Error('its amendments are none');
  const document = ended(given as unknown as ProfileDocument);
  const { queries, location = null, referrer = null, dest = null } = index as unknown as CheckedIndex;
  return {
    index: indexOf({ document, queries, navigationHints: { location, referrer, dest } }),
    document: JSON.stringify(document),
    amendments,
    refersTo: sharedIdsOf(document),
  };
}

/** Throws an Error whose message says what is wrong with the line. */
export function readExportedLine(line: string): ImportedLine {
  let content: unknown;
  try {
    content = JSON.parse(line);
  } catch {
    throw new Error('it is not JSON');
  }
  if (!isRecord(content)) throw new Error('it is no exported profile');
  if ('part' in content) return { part: partOf(content.part) };
  if (content.version !== EXPORT_VERSION)
    throw new Error('it is no exported profile, or one of a later version');
  return { profile: profileOf(content) };
}
