/** Why an HTML page got no toolbar, and its body as the application wrote it. */

const WHY: Readonly<Record<string, string>> = {
  announced: 'its Content-Length was fixed before its <head> was written',
  attachment: 'it is a download',
  charset: 'its charset is not based on ASCII',
  digest: 'a header has the digest of its body',
  encoded: 'its body was encoded by the application itself',
  fragment: 'it does not begin as a whole document, with a doctype or <html>',
  'integrity-policy': 'its Integrity-Policy blocks the script',
  'no-transform': 'its Cache-Control says no-transform',
  range: 'it is only part of a document',
  there: 'it already has the toolbar of another request, like a page from the application’s cache',
  unclear: 'it is uncertain where its content begins',
};

/** `absent`, as the toolbar recorded it; null if the page got one, or is not a page. */
export function absenceSentence(absent: string | null): string | null {
  if (absent === null) return null;
  const [kind = '', directive = ''] = absent.split(':');
  if (kind === 'policy' && /^[a-z-]+$/.test(directive)) {
    return directive === 'sandbox'
      ? 'No toolbar: the policy’s sandbox allows no script.'
      : `No toolbar: the policy’s ${directive} has no nonce, ’self’ or * that lets its script run.`;
  }
  const why = WHY[kind];
  return why === undefined ? null : `No toolbar: ${why}.`;
}

const BEGINNING = 32;

/** The body as the application wrote it; `leftOut`: bytes of the tag. */
export function withoutToolbar(text: string | null, tag: string): { text: string | null; leftOut: number } {
  const at = text === null || tag === '' ? -1 : text.indexOf(tag.slice(0, BEGINNING));
  if (text === null || at === -1) return { text, leftOut: 0 };
  return { text: text.slice(0, at) + text.slice(at + tag.length), leftOut: tag.length };
}
