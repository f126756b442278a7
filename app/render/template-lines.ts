/**
 * Removes the layout of templates when they are compiled, by JSX's rule: a line break with its spaces vanishes beside a tag of HTML or EJS, and
 * becomes one space between two words. Spaces within a line stay; `<%= ' ' %>` adds one at the end of a line.
 */

/** A tag of EJS; none of ours contains `%>` in a string. */
const EJS_TAG = /(<%[\s\S]*?%>)/;
const BREAK = /\s*\n\s*/g;

function joinText(text: string): string {
  return text.replace(BREAK, (space, at: number) => {
    const before = text[at - 1] ?? '>';
    const after = text[at + space.length] ?? '<';
    return before === '>' || after === '<' ? '' : ' ';
  });
}

/** The template without its layout. */
export function joinLines(template: string): string {
  return template
    .split(EJS_TAG)
    .map((part) => (part.startsWith('<%') ? part : joinText(part)))
    .join('');
}
