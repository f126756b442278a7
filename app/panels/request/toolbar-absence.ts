/** What the toolbar did to an HTML page that a browser asked for: why it got none, and its body as the application wrote it. */

const WHY: Readonly<Record<string, string>> = {
  announced: 'its length was sent before its body',
  attachment: 'it is to be saved as a file',
  base: 'its base address leads to another origin, and its own is not known',
  charset: 'its charset is not based on ASCII',
  digest: 'a header tells the digest of its body',
  encoded: 'its body was encoded by the application itself',
  fragment: 'it does not begin as a whole document, with a doctype or <html>',
  frameset: 'it is a frameset',
  'integrity-policy': 'its Integrity-Policy asks for more than the script can show',
  late: 'a policy or base address stood in it behind what had gone out already',
  'no-transform': 'its Cache-Control says no-transform',
  plaintext: 'it ends in plain text',
  range: 'it is a part of a document',
  there: 'it has the toolbar of another request already, as a page kept by the application would',
  unclear: 'browsers may read its markup in different ways',
  unfinished: 'it ends inside of a comment, a script or an element whose content is text',
};

/** `absent` as the toolbar noted it; null where it got one, or is no page. */
export function absenceSentence(absent: string | null): string | null {
  if (absent === null) return null;
  const [kind = '', directive = ''] = absent.split(':');
  if (kind === 'policy' && /^[a-z-]+$/.test(directive)) {
    return directive === 'sandbox'
      ? 'No toolbar: the policy’s sandbox allows no script.'
      : `No toolbar: the policy’s ${directive} allows no script of this origin.`;
  }
  const why = WHY[kind];
  return why === undefined ? null : `No toolbar: ${why}.`;
}

/** Enough of a tag to find it by where the rest of it was not kept. */
const BEGINNING = 32;

/** The body without the tag that was put into it, which is none of the application's; `leftOut`: bytes of it. */
export function withoutToolbar(text: string | null, tag: string): { text: string | null; leftOut: number } {
  const at = text === null || tag === '' ? -1 : text.lastIndexOf(tag.slice(0, BEGINNING));
  if (text === null || at === -1) return { text, leftOut: 0 };
  return { text: text.slice(0, at) + text.slice(at + tag.length), leftOut: tag.length };
}
