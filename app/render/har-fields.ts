/** Fields that entries of a HAR have in common. */
import type { NamedValue } from '../profiler/raw-headers.ts';

export function headerOf(headers: readonly NamedValue[], name: string): string {
  return headers.find((header) => header.name.toLowerCase() === name)?.value ?? '';
}

export function commentOf(text: string | null): { comment?: string } {
  return text === null ? {} : { comment: text };
}
