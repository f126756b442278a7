/** A cookie that browsers do not keep: its flags contradict each other, or the way it went out. */
import type { KeptRequest } from '../panels/request/index.ts';
import type { KeptSecurity } from '../panels/security/index.ts';
import type { FindingRule } from '../profiler/finding.ts';
import { receivedHeader } from './shared/http.ts';

/** The client came by https, said by a proxy that nobody trusts: that is why the answer is taken for http. */
function isUntrustedHttps(request: KeptRequest): boolean {
  if (request.client.trusted === true || request.client.scheme === 'https') return false;
  return /^\s*https\b/i.test(receivedHeader(request, 'x-forwarded-proto') ?? '');
}

export const cookieDropped: FindingRule<{ request: KeptRequest; security: KeptSecurity }> = {
  name: 'cookie-dropped',
  needs: ['request', 'security'],
  labels: ['cookie lost'],
  known:
    'The flags of the cookies that were set, against what browsers refuse (RFC 6265bis): Secure over http, SameSite=None without Secure, prefixes, length.',
  mends: "Trust the proxy that ends TLS (`app.set('trust proxy', …)`), and set Secure with SameSite=None.",
  find({ request, security: { jar } }) {
    return jar.flatMap(({ name, dropped, secure }, index) => {
      if (dropped === null) return [];
      const proxy = secure && isUntrustedHttps(request) ? '; its proxy says https, but is not trusted' : '';
      return [
        {
          label: 'cookie lost',
          severity: 'warn' as const,
          sentence: `Browsers drop the cookie “${name.slice(0, 80)}”, 1 of ${jar.length}: ${dropped}${proxy}`,
          place: 'Set-Cookie',
          panel: 'security',
          anchor: `c-${index + 1}`,
        },
      ];
    });
  },
};
