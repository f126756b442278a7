/**
 * What the exception panel and the error page show of each error: the first screen (message, place, causes), then frames, properties and
 * trace.
 */
import { EMPTY_LINK, type Thrown, type ThrownFrame, type ThrownLink } from '../profiler/thrown.ts';
import { frameHelpers } from './frames.ts';
import { type ValueRow, valueHelpers } from './values.ts';
import { chainNote, chainOf, headlineOf, membersOf, rootOf } from './thrown-chain.ts';

/** One error of a request, as the panel records it. */
export interface ThrownEntry {
  origin: string;
  late: boolean;
  status: number | null;
  thrown: Thrown;
  place: { link: number; frame: ThrownFrame; member?: number } | null;
  from?: { name: string; place: string | null };
  handler?: { name: string; place: string | null };
}

export interface FrameView {
  name: string;
  place: string;
  editor: string | null;
  /** Whose excerpt is shown; null if it has none, or is shown above. */
  excerpt: ThrownFrame | null;
  open: boolean;
  /** How many more times it is repeated. */
  repeats: number;
  /** With its values; shown above if the place is. */
  frame: ThrownFrame;
  /** null: none were read of this frame. */
  values: ValueRow[] | null;
}

export type RowView =
  | { kind: 'own'; frame: FrameView }
  | { kind: 'note'; text: string }
  | { kind: 'foreign'; title: string; lines: string[] };

export interface LinkView {
  id: string;
  class: string;
  note: string;
  level: number;
  rows: RowView[];
  /** Frames and members that were not recorded. */
  emptyNote: string;
  members: { number: number; class: string; headline: string; links: LinkView[] }[];
  membersDropped: number;
}

/** Members of an AggregateError that the first screen names. */
const NAMED_MEMBERS = 5;
const ORIGINS: Readonly<Record<string, string>> = {
  uncaughtException: 'uncaught: it may have ended the process',
  unhandledRejection: 'unhandled rejection: it may have ended the process',
  work: 'failed with it',
  graphql: 'thrown by a resolver',
  parser: 'refused by the HTTP parser',
  logged: 'logged, not thrown',
  late: 'after the response',
};

/** No route matched: its cause is the second try, which the page tells elsewhere. */
function isMiss({ code }: ThrownLink): boolean {
  return code === 'ROUTE_NOT_FOUND';
}

function isAt(frame: ThrownFrame, shown: ThrownFrame | null): boolean {
  return shown !== null && shown.file === frame.file && shown.line === frame.line;
}

function noteOf({ chain, chainEnd }: Thrown, index: number): string {
  if (chain.length === 1) return '';
  const cause = chain[index + 1];
  if (cause !== undefined) return `wraps ${cause.class}`;
  return chainEnd === 'root' ? 'origin' : '';
}

/** The message is about the first own frame. */
function valuesOf(frame: ThrownFrame, { message, frames }: ThrownLink): ValueRow[] {
  return valueHelpers.valueRows(
    frame,
    message,
    isAt(frame, frames.find(({ kind }) => kind === 'own') ?? null),
  );
}

function linkOfPlace({ link, member }: NonNullable<ThrownEntry['place']>, { chain }: Thrown): ThrownLink {
  const found = chain[link] ?? EMPTY_LINK;
  return member === undefined ? found : (found.errors[member]?.chain[0] ?? EMPTY_LINK);
}

export function createThrownHelpers(editorUrl: (frame: ThrownFrame) => string | null) {
  function ownRow(
    frame: ThrownFrame,
    { times, shown, link }: { times: number; shown: ThrownFrame | null; link: ThrownLink },
  ): FrameView {
    const hasExcerpt = frame.excerpt !== null && !isAt(frame, shown);
    return {
      name: frame.function ?? '(anonymous)',
      place: frameHelpers.framePlace(frame),
      editor: editorUrl(frame),
      excerpt: hasExcerpt ? frame : null,
      open: frame.values !== undefined,
      repeats: times - 1,
      frame,
      values: frame.values === undefined || isAt(frame, shown) ? null : valuesOf(frame, link),
    };
  }

  /** The first excerpt is open, unless its frame is shown above. */
  function rowsOf(link: ThrownLink, before: ThrownLink | null, shown: ThrownFrame | null): RowView[] {
    let opened = shown === null || link.frames.some((frame) => isAt(frame, shown));
    return frameHelpers.groupFrames(link, before).map((row): RowView => {
      if (row.kind === 'awaited') return { kind: 'note', text: 'awaited' };
      if (row.kind === 'note') return { kind: 'note', text: row.title };
      if (row.kind === 'foreign') {
        const lines = row.frames.map((frame) =>
          `${frame.function ?? ''} ${frameHelpers.framePlace(frame)}`.trim(),
        );
        return { kind: 'foreign', title: row.title, lines };
      }
      const frame = ownRow(row.frame, { times: row.times, shown, link });
      if (frame.excerpt === null || opened) return { kind: 'own', frame };
      opened = true;
      return { kind: 'own', frame: { ...frame, open: true } };
    });
  }

  function linkOf(
    link: ThrownLink,
    before: ThrownLink | null,
    given: { id: string; note: string; level: number; shown: ThrownFrame | null },
  ): LinkView {
    const { id, note, level, shown } = given;
    return {
      id,
      class: link.class,
      note,
      level,
      rows: rowsOf(link, before, shown),
      emptyNote: link.isError
        ? 'No frames: the error has no stack.'
        : 'No frames: the thrown value is not an Error.',
      members: link.errors.map(({ chain }, index) => ({
        number: index + 1,
        class: chain[0]?.class ?? '',
        headline: headlineOf(chain[0] ?? EMPTY_LINK),
        links: chain.map((inner, depth) =>
          linkOf(inner, null, {
            id: `${id}-${index + 1}-${depth + 1}`,
            note: depth === 0 ? headlineOf(inner) : `caused it: ${headlineOf(inner)}`,
            level: Math.min(6, level + 1),
            shown: null,
          }),
        ),
      })),
      membersDropped: link.errorsDropped,
    };
  }

  function whereOf({ place, thrown }: ThrownEntry) {
    if (place === null) return null;
    const { frame } = place;
    return {
      frame,
      title: frameHelpers.whereTitle(place, thrown),
      place: frameHelpers.framePlace(frame),
      editor: editorUrl(frame),
      values: frame.values === undefined ? null : valuesOf(frame, linkOfPlace(place, thrown)),
    };
  }

  function recordOf(entry: ThrownEntry, number: number, level: number) {
    const { thrown, origin, late, status } = entry;
    const { chain, chainEnd } = thrown;
    const top = chain[0] ?? EMPTY_LINK;
    const isFirst = number === 1;
    const linkId = (index: number): string => `e${number}-${index + 1}`;
    const where = whereOf(entry);
    const shown = where?.frame ?? null;
    const frames = chain.reduce((sum, link) => sum + link.frames.length, 0);
    const members = membersOf(thrown, linkId);
    // From the root cause on.
    const links = chain
      .map((link, index) => [link, index] as const)
      .reverse()
      .map(([link, index]) =>
        linkOf(link, chain[index + 1] ?? null, {
          id: linkId(index),
          note: noteOf(thrown, index),
          level: level + 1,
          shown,
        }),
      );
    return {
      number,
      level,
      isFirst,
      status,
      top,
      headline: headlineOf(top),
      isWhole: top.message === headlineOf(top) && top.messageTruncated === 0,
      said: ORIGINS[origin] ?? (late ? 'after the response' : ''),
      root: isMiss(top) ? null : rootOf(thrown, linkId),
      layers: [
        ...(entry.from === undefined ? [] : [{ say: 'Failed in', ...entry.from }]),
        ...(entry.handler === undefined ? [] : [{ say: 'Handled by', ...entry.handler }]),
      ],
      id: (name: string): string => (isFirst ? name : `${name}-${number}`),
      where: where?.frame.excerpt === null ? null : where,
      whereNote: whereNote(entry, where),
      chain: chainOf(thrown, linkId),
      chainNote: chainNote(chainEnd, chain.length),
      members: members.slice(0, NAMED_MEMBERS),
      membersLeft: members.length - Math.min(members.length, NAMED_MEMBERS),
      frames,
      links: frames > 0 || members.length > 0 ? links : [],
      properties: frameHelpers.propertyRows(chain),
      trace: frames > 0 ? frameHelpers.traceLines(thrown) : [],
    };
  }

  /** `isPage`: the error page, whose heading is the message. */
  function thrownRecords(errors: readonly ThrownEntry[], isPage = false) {
    return errors.map((entry, index) => recordOf(entry, index + 1, index === 0 && isPage ? 1 : 2));
  }

  return { thrownRecords } as const;
}

/** Why no source is shown, as parts of a sentence: before a place or name, that itself, and after it. */
function whereNote(
  { thrown, from }: ThrownEntry,
  where: { frame: ThrownFrame; place: string } | null,
): { before: string; mono: string; after: string } {
  const top = thrown.chain[0] ?? EMPTY_LINK;
  const [first] = top.frames;
  if (where !== null) return { before: 'In ', mono: where.place, after: '; its source could not be read.' };
  if (first !== undefined) {
    const place = frameHelpers.framePlace(first);
    return { before: 'No frame is in your code. It came from ', mono: place, after: '.' };
  }
  if (top.isError) return { before: 'The error has no stack.', mono: '', after: '' };
  const by = from === undefined ? '' : ` It came from ${from.name}.`;
  const after = ` was thrown, not an Error, so there is no stack trace.${by} Throw new Error(…) to see the line.`;
  return { before: 'A value of type ', mono: top.class, after };
}
