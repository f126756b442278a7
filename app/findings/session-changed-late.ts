/** The session changed after it had been saved: the next request will not see it. */
import type { KeptRequest } from '../panels/request/data.ts';
import type { FindingRule } from '../profiler/finding-rule.ts';
import type { Kept } from './shared/kept.ts';

const NAMED = 3;

export const sessionChangedLate: FindingRule<{ request: KeptRequest } & Partial<Pick<Kept, 'routing'>>> = {
  name: 'session-changed-late',
  needs: ['request'],
  labels: ['session lost'],
  why: 'The session differs from what it was when the response headers were sent. express-session saves it when `end()` is called, which `send`, `json` and `redirect` do.',
  fix: 'Change the session before the response is sent. If it must change later, call `req.session.save()` and wait for it.',
  find({ request: { sessionAndUser }, routing }) {
    const late = sessionAndUser?.late ?? [];
    if (late.length === 0) return [];
    const named = late.slice(0, NAMED).map((name) => `req.session.${name.slice(0, 60)}`);
    const more = late.length > NAMED ? ` and ${late.length - NAMED} more` : '';
    const sentence = `${named.join(', ')}${more} changed after the headers were sent, so this may not be saved`;
    return [
      { broke: 'unseen', severity: 'warn', sentence, anchor: 'session', place: routing?.route?.source },
    ];
  },
};
