/** What a person reads of an HTML page, in one line. */

/** Elements whose content is no text of the page; that of a title is shown first. */
const RAW = /^(?:script|style|template|noscript|title)$/i;
const TAG = /\/?([a-z][a-z0-9]*)/iy;
const ENTITY = /&(?:amp|lt|gt|quot|apos|nbsp|#39|#x27);/gi;
const ENTITIES: Readonly<Record<string, string>> = {
  amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ', '#39': "'", '#x27': "'",
}; // prettier-ignore

export function isPage(text: string): boolean {
  return /^\s*<(?:!doctype html|html|!--|[a-z][a-z0-9]*[\s>])/i.test(text) && !/^\s*<\?xml/i.test(text);
}

/** Where the tag at `from` ends: a `>` in a quoted value is no end. */
function endOfTag(html: string, from: number): number {
  let quote = '';
  for (let at = from; at < html.length; at++) {
    const sign = html.charAt(at);
    if (quote !== '') quote = sign === quote ? '' : quote;
    else if (sign === '>') return at + 1;
    else if (sign === '"' || sign === "'") quote = sign;
  }
  return html.length;
}

function indexAfter(html: string, text: string, from: number): number {
  const at = html.indexOf(text, from);
  return at === -1 ? html.length : at + text.length;
}

function plain(text: string): string {
  return text
    .replace(ENTITY, (entity) => ENTITIES[entity.slice(1, -1).toLowerCase()] ?? entity)
    .replace(/\s+/g, ' ')
    .trim();
}

/** Its title, then its text, at most `longest` characters. One pass: each step begins where the one before it ended. */
export function pageText(html: string, longest: number): string {
  const words: string[] = [];
  let title = '';
  let at = 0;
  while (at < html.length) {
    const open = html.indexOf('<', at);
    words.push(html.slice(at, open === -1 ? undefined : open));
    if (open === -1) break;
    TAG.lastIndex = open + 1;
    const name = TAG.exec(html)?.[1];
    if (html.startsWith('<!--', open)) at = indexAfter(html, '-->', open + 4);
    else if (name === undefined && !/[!?/]/.test(html.charAt(open + 1))) {
      words.push('<');
      at = open + 1;
    } else {
      words.push(' ');
      at = endOfTag(html, open + 1);
      if (name === undefined || html.charAt(open + 1) === '/' || !RAW.test(name)) continue;
      const close = new RegExp(`</${name}`, 'gi');
      close.lastIndex = at;
      const end = close.exec(html)?.index ?? html.length;
      if (title === '' && /^title$/i.test(name)) title = plain(html.slice(at, end));
      at = end;
    }
  }
  const body = plain(words.join(''));
  // Most pages repeat their title as their heading.
  const text = [body.startsWith(title) ? '' : title, body].filter((part) => part !== '').join(' · ');
  return text.length > longest ? `${text.slice(0, longest)}…` : text;
}
