/** One word for a POSIX shell: nothing is interpreted inside single quotes. */
export function shellQuote(text: string): string {
  return `'${text.replaceAll('\0', '').replaceAll("'", "'\\''")}'`;
}
