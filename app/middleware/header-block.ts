/**
 * The header block as sent -> name, value … in order and case. Most lines are the same in each response: such a line is recognised
 * at its position and its strings are reused, which saves cutting them out, and lets later comparisons succeed by identity.
 */
import { copyText } from '../profiler/redact-memory.ts';

interface Line {
  /** With its line break. */
  text: string;
  name: string;
  value: string;
  /** Consecutive responses with another line at this position. */
  missed: number;
}

/** Lines remembered, by their position in the block. */
const MOST_LINES = 50;
const LONGEST_LINE = 1000;
/** A line that was missed this often is forgotten: a date changes each time. */
const MOST_MISSED = 10;
const LINE_BREAK = '\r\n';

function splitLine(text: string): { name: string; value: string } | null {
  const colon = text.indexOf(':');
  return colon < 1 ? null : { name: text.slice(0, colon), value: text.slice(colon + 1).trim() };
}

/** Faster than `startsWith`, which compares character by character. */
function standsAt(block: string, at: number, text: string): boolean {
  return block.slice(at, at + text.length) === text;
}

export function createBlockReader(): (block: string) => string[] {
  const lines: Line[] = [];

  function remember(place: number, text: string): void {
    const line = lines[place];
    if (line !== undefined && ++line.missed < MOST_MISSED) return;
    if (place >= MOST_LINES || place > lines.length || text.length > LONGEST_LINE) return;
    const copy = copyText(text);
    const parts = splitLine(copy);
    if (parts !== null) lines[place] = { text: copy, ...parts, missed: 0 };
  }

  return (block) => {
    const headers: string[] = [];
    let start = block.indexOf(LINE_BREAK) + LINE_BREAK.length;
    for (let place = 0; start >= LINE_BREAK.length && start < block.length; place++) {
      const known = lines[place];
      if (known !== undefined && standsAt(block, start, known.text)) {
        known.missed = 0;
        headers.push(known.name, known.value);
        start += known.text.length;
        continue;
      }
      const end = block.indexOf(LINE_BREAK, start);
      const text = block.slice(start, end === -1 ? undefined : end + LINE_BREAK.length);
      const parts = splitLine(text);
      if (parts !== null) {
        headers.push(parts.name, parts.value);
        if (end !== -1) remember(place, text);
      }
      start += text.length;
    }
    return headers;
  };
}
