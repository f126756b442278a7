/** Helpers of rules about a proxy in front of the application. */
import type { KeptRequest } from '../../panels/request/data.ts';
import { receivedHeader } from './http.ts';

/** The proxy says https but is not trusted, so the request counts as http. */
export function isUntrustedHttps(request: KeptRequest): boolean {
  if (request.client.trusted === true || request.client.scheme === 'https') return false;
  return /^\s*https\b/i.test(receivedHeader(request, 'x-forwarded-proto') ?? '');
}
