/** A cookie that browsers reject, because of its flags or because the response was sent over http. */
import type { KeptRequest } from '../panels/request/data.ts';
import type { KeptSecurity } from '../panels/security/data.ts';
import type { FindingRule } from '../profiler/finding-rule.ts';
import { isUntrustedHttps } from './shared/proxy.ts';
import { count } from './shared/wording.ts';

export const cookieRejected: FindingRule<{ request: KeptRequest; security: KeptSecurity }> = {
  name: 'cookie-rejected',
  needs: ['request', 'security'],
  labels: ['cookie rejected'],
  why: 'The flags of the cookies were checked against the rules of browsers (RFC 6265bis): Secure over http, SameSite=None without Secure, prefixes, length.',
  fix: "Trust the proxy that terminates TLS (`app.set('trust proxy', …)`), and set Secure together with SameSite=None.",
  find({ request, security: { jar } }) {
    return jar.flatMap(({ name, dropped, secure }, index) => {
      if (dropped === null) return [];
      const proxy = secure && isUntrustedHttps(request) ? '; the proxy says https, but is not trusted' : '';
      const sentence = `Browsers reject 1 of ${count(jar.length, 'cookie')}, “${name.slice(0, 80)}”: ${dropped}${proxy}`;
      return [
        {
          broke: 'unseen',
          severity: 'warn',
          sentence,
          panel: 'security',
          anchor: `c-${index + 1}`,
          place: 'Set-Cookie',
        },
      ];
    });
  },
};
