/** Rows of the list for tests, with every column that the table has. */
import { indexOf, type ProfileIndex } from '../../app/profiler/store/profile-index.ts';

/** A GET of `/` that was answered by 200, without queries or findings. */
export function profileIndex(changes: Partial<ProfileIndex> = {}): ProfileIndex {
  const document = {
    token: '000000',
    kind: 'request',
    state: 'final',
    method: 'GET',
    url: '/',
    origin: 'http://localhost:3000',
    status: 200,
    clientAddress: '127.0.0.1',
    requestId: '',
    startedAt: 0,
    durationMs: 1,
    process: 'web.1 4711',
    panels: {},
  } as const;
  return { ...indexOf({ document, findings: [], queries: 0, navigationHints: null }), ...changes };
}
