/** The name of a request in a sentence of a page or a finding. */
import type { ProfileHead } from '../../profiler/profile.ts';

export function excerpt(text: string, length = 160): string {
  const line = text
    .slice(0, length * 2)
    .replace(/\s+/g, ' ')
    .trim();
  return line.length > length ? `${line.slice(0, length)}…` : line;
}

/** Of a name in a sentence. */
export const LONGEST_NAME = 80;

/** `GET /orders/:id (a1b2c3)`: another request, whose profile its token opens. */
export function requestText({ method, route, url, token }: ProfileHead): string {
  return `${method} ${excerpt(route ?? url, LONGEST_NAME)} (${token})`;
}
