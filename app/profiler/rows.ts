/**
 * What a panel shows, said once: figures, and sections of rows. The page, Markdown, the toolbar's card and the comparison
 * are written from these by the writers in app/render, so a panel never formats anything itself.
 */
import type { Json } from './json.ts';

/** `at`: milliseconds since the request began. `share`: 0 to 1. `time`: milliseconds since 1970. */
export type Unit = 'ms' | 'at' | 'bytes' | 'count' | 'share' | 'time';
export type Tone = 'plain' | 'warn' | 'bad';

/** A total, such as the number of queries. */
export interface Figure {
  /** Says what it is without the panel's title: `Query time`. */
  label: string;
  /** A number has a unit (default: `count`); a text is recorded or ours. null: not known. */
  value: number | string | null;
  unit?: Unit;
  tone?: Tone;
  /** Compared between two profiles: `cost` where less is better, `neutral` where it is just different. */
  compare?: 'cost' | 'neutral';
  /** Where one of two profiles lacks it, it was not measured there; default: there was none. */
  measured?: true;
}

/** A further column of a row. */
export interface Field {
  /** Title of the column, ours: the same in all rows of a section. */
  label: string;
  value: Json | undefined;
  unit?: Unit;
}

/** A longer text below the row. */
export interface Block {
  text: string;
  language?: 'sql' | 'json' | 'http' | 'sh' | 'ts';
}

export interface Row {
  /** Id of its element on the panel's page; findings, the card and search link to it. */
  id?: string;
  /** What it is called: a header's name, a method, `Query 3`. */
  label?: string;
  /** What was recorded. */
  text?: Json;
  /** `key` in colours: class and text, as the code helpers make them. */
  tokens?: readonly (readonly [kind: string, text: string])[];
  /** How much of it there was; the section says in which unit. */
  number?: number | null;
  /** Alike, and folded into this row; default 1. */
  times?: number;
  tone?: Tone;
  /** Short marks, ours: `N+1`, `failed`. */
  badges?: readonly string[];
  /** A remark, ours. */
  note?: string | null;
  /** `file:line`. */
  place?: string | null;
  /** Steps below the row that holds it, in a tree that is listed depth first. */
  depth?: number;
  fields?: readonly Field[];
  block?: Block;
  /** What work is called in a comparison: with the same key it is the same. Without one it is not compared. */
  key?: string;
  /** Id of the row, in another section, that sums this one up: the card shows that row instead. */
  within?: string;
  /** In a section of `values`: differs between any two requests, so it is not compared. */
  varies?: true;
}

export interface Section {
  /** Id of its element on the panel's page. */
  id: string;
  title: string;
  /** Behind the title, quieter. */
  note?: string;
  rows: readonly Row[];
  /** Of the rows' `number`; default `ms`. */
  unit?: Unit;
  /** Titles of the columns; without any, rows are names and values. */
  columns?: Partial<Record<'label' | 'text' | 'number' | 'badges' | 'note' | 'place', string>>;
  /** Rows that were not kept, or are not shown anywhere. */
  left?: number;
  /** false: Markdown leaves it out, because another section says the same there. */
  inMarkdown?: false;
  /** Said in place of the rows where there are none; default: the section is left out. */
  none?: string;
  /** The toolbar's card shows its first rows, the worst tone first: then in their order, or the largest number first. */
  card?: 'in order' | 'largest';
  /** Its rows are compared between two profiles by label, as values of this kind: `request header`. */
  values?: string;
}

export interface Presentation {
  /** Sentences of ours ahead of everything. */
  lead?: readonly string[];
  figures?: readonly Figure[];
  sections: readonly Section[];
  /** The toolbar's item, where the panel's summary doesn't say it. `parts`: where the time went, drawn. */
  card?: {
    text?: string;
    tone?: Tone;
    parts?: readonly { kind: string; label: string; ms: number }[];
  };
}
