import { expect } from 'chai';
import { completeProfile } from '../../app/profiler/complete-profile.ts';
import type { ProfileDocument } from '../../app/profiler/profile.ts';

describe('a stored document', () => {
  const complete = (fields: Partial<ProfileDocument>) =>
    completeProfile({ version: 2, token: '000001', panels: {}, ...fields } as ProfileDocument, {
      panels: [],
      sharedOf: () => undefined,
    });

  it('is read under the names that earlier builds stored', () => {
    expect(complete({ outline: 'slow', cut: { detail: 1 } })).to.deep.include({
      storedBecause: 'slow',
      dropped: { detail: 1 },
    });
    expect(complete({ storedBecause: 'failed', dropped: { log: 2 } })).to.deep.include({
      storedBecause: 'failed',
      dropped: { log: 2 },
    });
  });
});
