import type { ProfileHead } from '../../profiler/profile.ts';

/** Every scalar that the request brought, as text: of its address, body, session and user. */
export function receivedBy(
  { url }: Pick<ProfileHead, 'url'>,
  { request }: { request?: unknown },
): Set<string> {
  const received = new Set(url.split(/[/?&=,]/).map((part) => decodeSafely(part)));
  const { body, routeParams, query, sessionAndUser } = (request ?? {}) as Record<string, unknown>;
  const open: unknown[] = [body, routeParams, query, sessionAndUser];
  for (const value of open) {
    if (Array.isArray(value)) open.push(...(value as unknown[]));
    else if (typeof value === 'object' && value !== null)
      open.push(...Object.values<unknown>(value as Record<string, unknown>));
    else received.add(String(value));
    if (open.length > 2000) break;
  }
  return received;
}

function decodeSafely(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
