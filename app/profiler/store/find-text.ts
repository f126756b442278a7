/** Finds a text in a stored document: in the URL, the error, and the `searched` fields of panels. */
import { errorText } from '../error-text.ts';
import type { FactName } from '../record/facts.ts';
import { type Panel, storedFactsOf } from '../panel.ts';
import type { ProfileDocument } from '../profile.ts';
import { documentIn, type StoredText } from '../record/summary.ts';

export interface TextPlace {
  panel: string | null;
  before: string;
  text: string;
  after: string;
}

export type SearchedFields = Readonly<
  Record<string, { fields: readonly string[]; facts: readonly FactName[] }>
>;

export function searchedFields(
  panels: readonly Pick<Panel, 'name' | 'collect' | 'recorded'>[],
): SearchedFields {
  return Object.fromEntries(
    panels.map((panel) => [
      panel.name,
      { fields: panel.recorded?.searched ?? [], facts: storedFactsOf(panel) },
    ]),
  );
}

const BEFORE = 30;
const AFTER = 70;

/** A text as it is written in a document, which is JSON. */
export function escapedForJson(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

function placeIn(value: string, wanted: string, panel: string | null): TextPlace | null {
  const at = value.toLowerCase().indexOf(wanted);
  if (at === -1) return null;
  const end = at + wanted.length;
  return {
    panel,
    before: `${at > BEFORE ? '…' : ''}${value.slice(Math.max(0, at - BEFORE), at)}`,
    text: value.slice(at, end),
    after: `${value.slice(end, end + AFTER)}${value.length > end + AFTER ? '…' : ''}`,
  };
}

/** Without recursion, because recorded data may be nested deeply. Everything below a searched field is searched. */
function placeBelow(
  root: unknown,
  wanted: string,
  panel: string,
  fields: readonly string[],
): TextPlace | null {
  const work: { value: unknown; searched: boolean }[] = [{ value: root, searched: false }];
  for (let next = work.pop(); next !== undefined; next = work.pop()) {
    const { value, searched } = next;
    if (typeof value === 'string') {
      const place = searched ? placeIn(value, wanted, panel) : null;
      if (place !== null) return place;
    } else if (Array.isArray(value)) {
      for (const inner of [...(value as unknown[])].reverse()) work.push({ value: inner, searched });
    } else if (typeof value === 'object' && value !== null) {
      for (const [name, inner] of Object.entries(value).reverse())
        work.push({ value: inner, searched: searched || fields.includes(name) });
    }
  }
  return null;
}

/** The first occurrence: in the error, the URL, then the panels. null if there is none. */
export function findText(record: StoredText, text: string, searched: SearchedFields): TextPlace | null {
  const wanted = text.toLowerCase();
  const isIn = record.text.toLowerCase().includes(escapedForJson(text).toLowerCase());
  if (record.text !== '' && !isIn) return null;
  let parsed: Partial<ProfileDocument>;
  try {
    parsed = documentIn(record);
  } catch {
    return null;
  }
  const { error, url, panels = {}, facts = {} } = parsed;
  for (const value of [error === undefined || error === null ? '' : errorText(error), url ?? '']) {
    const place = placeIn(value, wanted, null);
    if (place !== null) return place;
  }
  for (const [panel, where] of Object.entries(searched)) {
    const roots = [panels[panel]?.data, ...where.facts.map((name) => facts[name])];
    for (const root of roots) {
      const place = placeBelow(root, wanted, panel, where.fields);
      if (place !== null) return place;
    }
  }
  return null;
}
