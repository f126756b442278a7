/**
 * The output of a panel: figures, and sections of rows. The writers in app/render turn them into page, Markdown, toolbar card and
 * comparison, so a panel formats nothing itself.
 */
import type { Json } from '../json.ts';
import type { SpanKind } from './span.ts';
import type { ThrownFrame } from '../record/thrown.ts';

/** `at`: milliseconds since the request started. `share`: 0 to 1. `time`: milliseconds since 1970. */
export type Unit = 'ms' | 'at' | 'bytes' | 'count' | 'share' | 'time';
export type Tone = 'plain' | 'warn' | 'bad';

/** A total, such as the number of queries. */
export interface Figure {
  /** Understandable without the panel's title: `Query time`. */
  label: string;
  /** A number with a unit (default: `count`), or a text. null: unknown. */
  value: number | string | null;
  unit?: Unit;
  /** After the value: `1,000 kept`. Never recorded text. */
  note?: string | undefined;
  tone?: Tone;
  /** The value is a `file:line`. */
  isPlace?: true;
  /** How it is compared between two profiles: `cost` if less is better, `neutral` if it is only different. */
  compare?: 'cost' | 'neutral';
  /** If one of two profiles lacks it, it was not measured there; default: it counts as 0. */
  measured?: true;
}

/** Stands in a column of numbers for one that there is none of. */
export const NONE = '–';

/** A further column of a row. */
export interface Field {
  /** Title of the column: the same in all rows of a section. Never a recorded text. */
  label: string;
  value: Json | undefined;
  unit?: Unit;
  /** A remark of ours. */
  note?: string;
  /** Two requests are compared by it. */
  compared?: true;
  /** The profile that it names. */
  token?: string;
}

/** A longer text below the row. */
export interface Block {
  text: string;
  language?: 'sql' | 'json' | 'http' | 'sh' | 'ts';
  /** Its lines as the page shows them, coloured or marked; default: the text as it is. */
  lines?: readonly BlockLine[];
}

export interface BlockLine {
  text?: string;
  /** Class and text, as the code helpers make them. */
  tokens?: readonly (readonly [kind: string, text: string])[];
  number?: number;
  mark?: 'hot' | 'loop' | undefined;
}

/** A part of what a row shows when it is opened. */
export interface Detail {
  title?: string;
  /** A sentence of ours. */
  note?: string;
  /** Names and values. */
  fields?: readonly Field[];
  /** Any JSON, as a tree. */
  value?: Json;
  /** A stack, and the number of frames after it. */
  frames?: readonly ThrownFrame[];
  left?: number;
  /** Message of its error, which may name a variable of a frame. */
  message?: string;
  /** Frames of the error that is listed before: the end that both have is named, not repeated. */
  sharedWith?: readonly ThrownFrame[];
  block?: Block;
  /** How its time divides: the name of a part (a class of the style sheet), its label, and milliseconds. */
  parts?: readonly { name: string; label: string; ms: number }[];
  /** A profile of this storage, a search in it, a row of the page, or another address, which is checked already. */
  link?: {
    label: string;
    token?: string;
    panel?: string;
    /** Its mail with this row's id, as a document. */
    mail?: string;
    search?: Record<string, string>;
    row?: string;
    href?: string;
  };
}

export interface Row {
  /** Id of its element on the panel's page; findings, the card and search link to it. */
  id?: string;
  /** Its name: of a header, a method, `Query 3`. */
  label?: string;
  /** The recorded text. */
  text?: Json;
  /** `key` for highlighting: class and text, as the code helpers make them. */
  tokens?: readonly (readonly [kind: string, text: string])[];
  /** Its text on the page, coloured: class and text. `marked`: names of values that are to be marked, and not to be cut. */
  line?: (marked?: ReadonlySet<string>) => readonly (readonly [kind: string, text: string])[];
  /** Amount, in the unit of the section. */
  number?: number | null;
  /** Number of identical rows folded into this one; default 1. */
  times?: number;
  tone?: Tone;
  /** The row that the others are about, and one that nearly was. */
  mark?: 'on' | 'near';
  /** Short marks: `N+1`, `failed`. Never a recorded text. */
  badges?: readonly string[];
  /** A remark. Never a recorded text. */
  note?: string | null;
  /** `file:line`. */
  place?: string | null;
  /** The lines that led to `place`, the nearest first. */
  path?: readonly string[] | undefined;
  /** Depth in a tree that is listed depth first. */
  depth?: number;
  fields?: readonly Field[];
  block?: Block;
  /** Shown when it is opened on the page, instead of its block and of fields that have the title of a part. */
  detail?: () => readonly Detail[];
  /** Identifies the work in a comparison; without it the row is not compared. */
  key?: string;
  /** Id of a row in another section that summarizes this one: the card shows that row instead, the page folds this one below it. */
  within?: string;
  /** In a section of `values`: differs between any two requests, so it is not compared. */
  varies?: true;
}

export interface Section {
  /** Id of its element on the panel's page. */
  id: string;
  title: string;
  /** Remark behind the title. */
  note?: string;
  rows: readonly Row[];
  /** Unit of the rows' `number`; default `ms`. */
  unit?: Unit;
  /** Titles of the columns; without any, rows are names and values. */
  columns?: Partial<Record<'label' | 'text' | 'number' | 'badges' | 'note' | 'place', string>>;
  /** Number of rows that were not recorded or are not shown. */
  left?: number;
  /** false: not in Markdown, because another section says the same. */
  inMarkdown?: false;
  /** false: not on the page, because another section or the view says the same. */
  inPage?: false;
  /** The page draws the numbers as bars of this kind. */
  bars?: SpanKind;
  /** The page folds rows with the same key: all of them, or those that follow each other at one depth. */
  folds?: 'similar' | 'adjacent';
  /** Titles of columns with few different values; the page can filter by each. */
  facets?: readonly string[];
  /** Shown if there are no rows; default: the section is left out. */
  none?: string;
  /** Makes the toolbar's card show its first rows: by tone, the worst first, then in order or by number, the largest first. */
  card?: 'in order' | 'largest';
  /** Kind of its rows as values in a comparison, by label: `request header`. */
  values?: string;
}

export interface Presentation {
  /** Sentences above everything else. Never recorded texts. */
  lead?: readonly string[];
  figures?: readonly Figure[];
  sections: readonly Section[];
  /** The toolbar's item, if it differs from the panel's summary. `parts`: how the time divides, drawn. */
  card?: {
    text?: string;
    tone?: Tone;
    parts?: readonly { kind: string; label: string; ms: number }[];
  };
}

/** A `file:line` in a library. */
export function isInLibrary(place: string | null | undefined): boolean {
  return place?.includes('node_modules/') === true;
}

export function jsonBlock(value: unknown): Block {
  return { text: JSON.stringify(value, null, 2), language: 'json' };
}
