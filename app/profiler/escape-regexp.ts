/** For a pattern without the flags `u` and `v`, in which `\-` is an error. */
export function escapeRegExp(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\/-]/g, '\\$&');
}
