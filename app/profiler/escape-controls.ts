/** Makes text from requests safe to print: a terminal would execute its control characters, and a line break would begin a forged log line. */

/** Control characters, C1 included, line separators and marks of direction. */
const CONTROLS = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;
const CONTROLS_BUT_LINE_BREAKS =
  /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;
/** A line break before a line that isn't indented like the frames of a stack. */
const UNINDENTED = /\n(?! {4})/g;

function escapeOne(character: string): string {
  const code = character.charCodeAt(0).toString(16);
  return code.length <= 2 ? `\\x${code.padStart(2, '0')}` : `\\u${code}`;
}

/** `\xNN` or `\uNNNN` for each control character, line breaks included. */
export function escapeControls(text: string): string {
  return text.replace(CONTROLS, escapeOne);
}

/** The same for a log entry of several lines, such as a stack: all but its first line are indented. */
export function escapeLogEntry(text: string): string {
  return text.replace(CONTROLS_BUT_LINE_BREAKS, escapeOne).replace(UNINDENTED, '\n    ');
}
