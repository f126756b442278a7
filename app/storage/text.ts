/** What PostgreSQL can't hold in a text, made storable; the document escapes these and keeps them as they were. */

/** U+0000 becomes its picture U+2400, a lone surrogate U+FFFD. Used on what is stored and on what is searched for. */
export function storable(text: string): string {
  const whole = text.isWellFormed() ? text : text.toWellFormed();
  return whole.includes('\0') ? whole.replaceAll('\0', '\u2400') : whole;
}

/** A document is JSON, where U+0000 can only stand escaped; a raw one is made so. */
export function storableDocument(document: string): string {
  return document.includes('\0') ? document.replaceAll('\0', '\\u0000') : document;
}
