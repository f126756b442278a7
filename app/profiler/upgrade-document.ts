/** Documents of earlier versions, their values named as version 3 names them. */
import { isRecord } from './json.ts';
import type { ProfileDocument } from './profile.ts';

type OlderDocument = ProfileDocument & {
  /** `storedBecause` */
  outline?: ProfileDocument['storedBecause'];
  /** `dropped` */
  cut?: ProfileDocument['dropped'];
};

type Names = Readonly<Record<string, string>>;

/** By panel: a former name -> the name of today, of the members of its data. */
const RENAMED: Readonly<Record<string, Names>> = {
  exception: { errorsCut: 'errorsDropped', logsCut: 'logsDropped' },
  migrations: { cut: 'dropped' },
  request: { held: 'sessionAndUser' },
  routing: { routesCut: 'routesDropped', traceCut: 'traceDropped' },
  runtime: { held: 'blocks' },
};
/** Of a link in the chain of what was thrown. */
const OF_LINK: Names = {
  errorsCut: 'errorsDropped',
  framesCut: 'framesDropped',
  messageCut: 'messageTruncated',
};

/** Members of the value itself: what is in them may have been recorded, and has names of its own. */
function rename(value: unknown, names: Names): unknown {
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [names[name] ?? name, one]));
}

/** `change` of each element in a list that is a member of `value`. */
function inList(value: unknown, name: string, change: (element: unknown) => unknown): unknown {
  if (!isRecord(value) || !Array.isArray(value[name])) return value;
  return { ...value, [name]: value[name].map(change) };
}

function upgradeThrown(thrown: unknown): unknown {
  return inList(thrown, 'chain', (link) => inList(rename(link, OF_LINK), 'errors', upgradeThrown));
}

function upgradeValue(panel: string, value: unknown): unknown {
  const names = RENAMED[panel];
  const renamed = names === undefined ? value : rename(value, names);
  if (panel !== 'exception') return renamed;
  return inList(renamed, 'errors', (error) =>
    isRecord(error) ? { ...error, thrown: upgradeThrown(error.thrown) } : error,
  );
}

/** A value that several documents share: it says nothing of a version, and no name of today was another one's formerly. */
export function upgradeShared<Shared extends { value: unknown } | undefined>(
  panel: string,
  shared: Shared,
): Shared {
  return shared && { ...shared, value: upgradeValue(panel, shared.value) };
}

export function upgradeDocument(stored: ProfileDocument): ProfileDocument {
  if (stored.version >= 3) return stored;
  const { outline, cut, ...document }: OlderDocument = stored;
  const panels = Object.entries(document.panels).map(([name, kept]) => {
    return [name, { ...kept, data: upgradeValue(name, kept.data) }] as const;
  });
  const masked = document.masked?.map(({ where, rule }) => ({
    where: where.replace(/^panels\.request\.data\.held\./, 'panels.request.data.sessionAndUser.'),
    rule,
  }));
  return {
    ...document,
    version: 3,
    storedBecause: document.storedBecause ?? outline,
    dropped: document.dropped ?? cut,
    panels: Object.fromEntries(panels),
    masked,
  };
}
