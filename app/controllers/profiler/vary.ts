/** Adds a name to the response's `Vary`, beside those that the host has set. */
import type { ServerResponse } from 'node:http';

/** `name`: in lower case. */
export function addVary(res: ServerResponse, name: string): void {
  const given = res.getHeader('vary');
  const names = (Array.isArray(given) ? given.join(', ') : String(given ?? ''))
    .split(',')
    .map((one) => one.trim().toLowerCase())
    .filter((one) => one !== '');
  if (!names.includes(name) && !names.includes('*')) res.setHeader('vary', [...names, name].join(', '));
}
