/**
 * Templates are laid out to be read; what their layout adds to a page is taken out once, when they are compiled.
 *
 * The rule is JSX's: a line break with the spaces round it vanishes beside a tag, of HTML or of EJS, and is one space between two
 * words. Spaces within a line stay. Where a space is wanted at the end of a line, it is written as `<%= ' ' %>`.
 */

import { narrow } from '../view-helpers/safe-html.ts';

/** A tag of EJS; none of ours holds `%>` in a string. */
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
    .map((part) => (part.startsWith('<%') ? part : narrow(joinText(part))))
    .join('');
}
