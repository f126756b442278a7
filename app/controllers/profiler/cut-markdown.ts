/** Shortens Markdown at the end of a block. */
import { numberHelpers } from '../../view-helpers/numbers.ts';

/** `longest`: in characters. `advice`: a sentence that says how to get the rest. */
export function cutMarkdown(markdown: string, longest: number, advice: string): string {
  if (markdown.length <= longest) return markdown;
  const end = markdown.lastIndexOf('\n\n', longest);
  const kept = markdown.slice(0, end > 0 ? end : longest);
  const isOpen = (kept.match(/^```/gm)?.length ?? 0) % 2 === 1;
  const left = numberHelpers.count(markdown.length - kept.length, 'character');
  return `${kept}${isOpen ? '\n```' : ''}\n\nThe rest does not fit: ${left}. ${advice}\n`;
}
