/** Replaces characters that PostgreSQL can't store in a text. The document escapes them, so nothing is lost there. */

/** Replaces U+0000 by U+2400 and lone surrogates by U+FFFD, in stored texts and in search terms. */
export function storable(text: string): string {
  const whole = text.isWellFormed() ? text : text.toWellFormed();
  return whole.includes('\0') ? whole.replaceAll('\0', '\u2400') : whole;
}

/** Escapes a raw U+0000 in a document, which is JSON. */
export function storableDocument(document: string): string {
  return document.includes('\0') ? document.replaceAll('\0', '\\u0000') : document;
}
