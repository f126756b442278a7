/** A comparison -> the view model of its page, bounded in rows and length. */
import type { Profile } from '../../profiler/profile.ts';
import { urls } from '../../urls.ts';
import type { FoundProfile } from '../../profiler/profiles.ts';
import type { Comparison, FigureRow, WorkRow, WorkSection } from './compare-profiles.ts';
import { NEWEST } from './compare-query.ts';
import { type ReplayMark, replayMarkOf } from './replay-profile.ts';
import { summarizeComparison } from './compare-summary.ts';
import { scaleOf, TIMELINE_BOX, timelineDrawing } from './compare-timeline.ts';

/** Rows per section, by default and with `all`. */
const MOST_ROWS = 16;
const ALL_ROWS = 200;
/** Rows that each section gets, however long the others are. */
const LEAST_ROWS = 5;
const MOST_VALUES = 25;
const ALL_VALUES = 50;
/** Characters of HTML for the rows of all sections, so that the page stays below 60 KB. */
const ROOM = 24_000;

/** `bar`: -1 to 1, from the middle of the bar: the change as a share of the larger value. */
function figureBar(row: FigureRow) {
  const larger = Math.max(row.a ?? 0, row.b ?? 0);
  return { ...row, bar: row.change === null || larger === 0 ? 0 : row.change / larger };
}

/** Estimated length of a row as HTML. */
function costOf({ label, tokens }: WorkRow): number {
  return 330 + label.length + 24 * (tokens ?? []).filter(([kind]) => kind !== '').length;
}

/** Sections share the room; what one does not use is left to those after it. */
function shownSections(sections: readonly WorkSection[], all: boolean) {
  let room = ROOM;
  return sections.map(({ rows, ...section }, index) => {
    const wanted = all ? rows : rows.filter(({ unchanged }) => !unchanged);
    const share = room / (sections.length - index);
    const shown: WorkRow[] = [];
    let spent = 0;
    for (const row of wanted.slice(0, all ? ALL_ROWS : MOST_ROWS)) {
      spent += costOf(row);
      if (spent > share && shown.length >= LEAST_ROWS) break;
      shown.push(row);
    }
    room -= Math.min(spent, room);
    return {
      ...section,
      id: `w${index + 1}`,
      rows: shown,
      /** Rows that are not shown: unchanged ones, and others for lack of space. */
      unchanged: rows.length - wanted.length,
      more: wanted.length - shown.length,
    };
  });
}

function repetitionOf(a: FoundProfile, b: FoundProfile): (ReplayMark & { by: 'A' | 'B' }) | null {
  for (const [by, one, other] of [
    ['B', b, a],
    ['A', a, b],
  ] as const) {
    const mark = replayMarkOf(one.amendments);
    if (mark?.of === other.profile.token) return { ...mark, by };
  }
  return null;
}

export function createCompareModel(options: {
  a: FoundProfile;
  b: FoundProfile;
  comparison: Comparison;
  all: boolean;
  csrf: string | null;
  foot: readonly string[];
}) {
  const { comparison, all, csrf, foot } = options;
  const [a, b] = [options.a.profile, options.b.profile];
  const pair = { a: a.token, b: b.token };
  const scaleMs = scaleOf([a, b]);
  const side = (name: 'A' | 'B', profile: Profile) => ({
    name,
    profile,
    timeline: timelineDrawing(profile, scaleMs),
  });
  const sides = [side('A', a), side('B', b)];
  const kinds = new Set(sides.flatMap(({ timeline }) => timeline?.paths.map(({ kind }) => kind) ?? []));
  const shown = comparison.values.slice(0, all ? ALL_VALUES : MOST_VALUES);
  return {
    title: `${a.token} and ${b.token} compared`,
    sides,
    summary: summarizeComparison(a, b, comparison.figures),
    scaleMs,
    timelineBox: TIMELINE_BOX,
    /** Kinds of work in the drawing. */
    kinds: [...kinds],
    figures: comparison.figures.map(figureBar),
    work: shownSections(comparison.work, all),
    values: shown,
    valuesMore: comparison.values.length - shown.length,
    comparison,
    /** Set if one of them is the other, sent again. */
    repeated: repetitionOf(options.a, options.b),
    /** Signature of the form that sends the first request once more; null: nothing is sent again. */
    csrf,
    /** Unchanged rows are shown too. */
    all,
    links: {
      swap: urls.compare({ a: b.token, b: a.token }),
      all: urls.compare({ ...pair, all: all ? undefined : 1 }),
      json: urls.compareJson(pair),
      markdown: urls.compareMarkdown(pair),
      newest: b.route === null ? null : urls.compare({ a: b.token, b: NEWEST }),
    },
    foot,
  };
}
