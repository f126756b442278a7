/** Shortens Markdown: whole blocks as far as they fit, then lines of the one that does not, with a count of the rest. */
import { count } from '../../view-helpers/numbers.ts';

const SHORTEST_PART = 200;

function openFence(markdown: string): string {
  let open = '';
  for (const [, fence = ''] of markdown.matchAll(/^(`{3,})/gm))
    if (open === '') open = fence;
    else if (fence.length >= open.length) open = '';
  return open;
}

export function cutMarkdown(markdown: string, longest: number, advice = ''): string {
  if (markdown.length <= longest) return markdown;
  const block = Math.max(0, markdown.lastIndexOf('\n\n', longest));
  const line = Math.max(0, markdown.lastIndexOf('\n', longest));
  const isInside = line - block >= SHORTEST_PART || block === 0;
  const end = isInside ? line || longest : block;
  const kept = markdown.slice(0, end);
  const fence = openFence(kept);
  const cut = markdown.slice(end).split('\n\n', 1)[0] ?? '';
  const lines = isInside ? `${count(cut.split('\n').length - 1, 'more line')} here. ` : '';
  const left = count(markdown.length - kept.length, 'character');
  return `${kept}${fence === '' ? '' : `\n${fence}`}\n\n${`${lines}The rest does not fit: ${left}. ${advice}`.trim()}\n`;
}

/** Sections share the room: a long one never leaves out those behind it. */
export function cutSections(markdown: string, longest: number, advice: string): string {
  if (markdown.length <= longest) return markdown;
  const sections = markdown.split(/\n(?=## )/);
  let room = longest;
  const sizes = new Map<number, number>();
  const byLength = sections
    .map((text, index) => ({ index, size: text.length }))
    .sort((a, b) => a.size - b.size);
  for (const [at, { index, size }] of byLength.entries()) {
    const share = Math.min(size, Math.floor(room / (sections.length - at)));
    sizes.set(index, share);
    room -= share;
  }
  const kept = sections.map((text, index) => cutMarkdown(text, sizes.get(index) ?? 0).trimEnd());
  return `${kept.join('\n\n')}\n\n${advice}\n`;
}
