/** Documents of earlier versions, their values named as version 3 names them. */
import type { ProfileDocument } from './profile.ts';

type OlderDocument = ProfileDocument & {
  /** `storedBecause` */
  outline?: ProfileDocument['storedBecause'];
  /** `dropped` */
  cut?: ProfileDocument['dropped'];
};

/** By panel: a former name -> the name of today. */
const RENAMED: Record<string, Record<string, string>> = {
  exception: {
    errorsCut: 'errorsDropped',
    framesCut: 'framesDropped',
    logsCut: 'logsDropped',
    messageCut: 'messageTruncated',
  },
  migrations: { cut: 'dropped' },
  request: { held: 'sessionAndUser' },
  routing: { routesCut: 'routesDropped', traceCut: 'traceDropped' },
  runtime: { held: 'blocks' },
};

function rename(value: unknown, names: Record<string, string>): unknown {
  if (Array.isArray(value)) return value.map((one: unknown) => rename(one, names));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [names[name] ?? name, rename(one, names)]),
  );
}

function upgradeValue(panel: string, value: unknown): unknown {
  const names = RENAMED[panel];
  return names === undefined ? value : rename(value, names);
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
