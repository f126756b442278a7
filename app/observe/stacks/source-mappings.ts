/**
 * Lazy reader of a source map's `mappings` (ECMA-426): lines before a requested place are skipped through, lines behind it are not
 * read. Node's own reader creates and sorts an object per segment, which for one place took longer than the rest of a first
 * response.
 */

/** Counted from 0. */
export interface MappedPlace {
  source: number;
  line: number;
  column: number;
}

/** What the line's last segment at or before the column maps to; null if there is none, or it names no source. */
export type FindMapped = (line: number, column: number) => MappedPlace | null;

const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
/** By character code. */
const VALUES = new Uint8Array(128);
for (let value = 0; value < DIGITS.length; value++) VALUES[DIGITS.charCodeAt(value)] = value;
const CONTINUES = 32;
const COMMA = 44;

/** `text` may hold only digits, commas and semicolons. */
export function readMappings(text: string): FindMapped {
  const lines = text.split(';');
  /** States at the beginning of the lines that were walked, and of the one behind them. */
  const states: MappedPlace[] = [{ source: 0, line: 0, column: 0 }];

  /** Walks a line from its state; returns the state after it and, in `found`, what is mapped at `column`. */
  function walk(
    segments: string,
    before: MappedPlace,
    column: number,
  ): { after: MappedPlace; found: MappedPlace | null } {
    const fields = [0, before.source, before.line, before.column, 0];
    let found: MappedPlace | null = null;
    let foundAt = -1;
    let field = 0;
    let value = 0;
    let shift = 0;
    for (let at = 0; at <= segments.length; at++) {
      const code = at < segments.length ? segments.charCodeAt(at) : COMMA;
      if (code === COMMA) {
        const begins = fields[0] ?? 0;
        if (field > 0 && begins <= column && begins >= foundAt) {
          foundAt = begins;
          found = field > 3 ? { source: fields[1] ?? 0, line: fields[2] ?? 0, column: fields[3] ?? 0 } : null;
        }
        field = 0;
        continue;
      }
      const digit = VALUES[code] ?? 0;
      value += (digit & (CONTINUES - 1)) * 2 ** shift;
      shift += 5;
      if (digit >= CONTINUES) continue;
      const delta = Math.floor(value / 2);
      fields[field] = (fields[field] ?? 0) + (value % 2 === 1 ? -delta : delta);
      field++;
      value = 0;
      shift = 0;
    }
    return { after: { source: fields[1] ?? 0, line: fields[2] ?? 0, column: fields[3] ?? 0 }, found };
  }

  return (line, column) => {
    const wanted = lines[line];
    if (wanted === undefined) return null;
    for (let number = states.length - 1; number < line; number++) {
      const before = states[number];
      if (before === undefined) return null;
      states.push(walk(lines[number] ?? '', before, -1).after);
    }
    const state = states[line];
    return state === undefined ? null : walk(wanted, state, column).found;
  };
}
