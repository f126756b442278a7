/** Makes text from requests safe to print: a terminal would execute its control characters, and a line break would begin a forged log line. */

/**
 * What people don't see, and a terminal or a language model does: control characters (C1 included), line separators, marks of direction, tag
 * characters, variation selectors, fillers and the like.
 */
const CONTROLS = /[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2028\u2029]/gu;
const CONTROLS_BUT_LINE_BREAKS = /(?!\n)[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2028\u2029]/gu;
export const UNSEEN = /(?![\n\t])[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2028\u2029]/gu;
/** A line break before a line that isn't indented like the frames of a stack. */
const UNINDENTED = /\n(?! {4})/g;

function escapeOne(character: string): string {
  const code = (character.codePointAt(0) ?? 0).toString(16);
  if (code.length <= 2) return `\\x${code.padStart(2, '0')}`;
  return code.length > 4 ? `\\u{${code}}` : `\\u${code.padStart(4, '0')}`;
}

/** `\xNN`, `\uNNNN` or `\u{NNNNN}` for each control character, line breaks included. */
export function escapeControls(text: string): string {
  return text.replace(CONTROLS, escapeOne);
}

/** The same for a log entry of several lines, such as a stack: all but its first line are indented. */
export function escapeLogEntry(text: string): string {
  return text.replace(CONTROLS_BUT_LINE_BREAKS, escapeOne).replace(UNINDENTED, '\n    ');
}
