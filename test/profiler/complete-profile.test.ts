import { expect } from 'chai';
import { completeProfile } from '../../app/profiler/complete-profile.ts';
import type { ProfileDocument } from '../../app/profiler/profile.ts';

describe('a stored document', () => {
  const complete = (fields: Partial<ProfileDocument>) =>
    completeProfile({ version: 2, token: '000001', panels: {}, ...fields } as ProfileDocument, {
      panels: [],
      sharedOf: () => undefined,
    });

  it('is read under the names that earlier versions stored', () => {
    const panels = {
      exception: { data: { errors: [{ thrown: { chain: [{ framesCut: 2 }] } }], errorsCut: 1 } },
      request: { data: { held: { user: 7 } } },
      runtime: { data: { held: [] } },
    };
    const masked = [{ where: 'panels.request.data.held.user.hash', rule: 'name' }] as const;
    const older = { outline: 'slow', cut: { detail: 1 }, panels, masked: [...masked] };
    const profile = complete(older);
    expect(profile).to.deep.include({
      version: 3,
      storedBecause: 'slow',
      dropped: { detail: 1 },
      masked: [{ where: 'panels.request.data.sessionAndUser.user.hash', rule: 'name' }],
    });
    const data = Object.entries(profile.panels).map(([name, panel]) => [name, panel.data]);
    expect(Object.fromEntries(data)).to.deep.equal({
      exception: { errors: [{ thrown: { chain: [{ framesDropped: 2 }] } }], errorsDropped: 1 },
      request: { sessionAndUser: { user: 7 } },
      runtime: { blocks: [] },
    });
  });

  it('keeps the names of what was recorded, whatever they are', () => {
    const properties = { framesCut: 1, errorsCut: 2, held: 3 };
    const link = { messageCut: 4, properties, errors: [{ chain: [{ messageCut: 5, properties }] }] };
    const profile = complete({
      panels: {
        exception: { data: { errors: [{ atMs: 1, thrown: { chain: [link] } }] } },
        request: { data: { held: { held: { held: true } }, body: { fields: [{ held: 'by whom' }] } } },
      },
    });
    expect(profile.panels.request?.data).to.deep.equal({
      sessionAndUser: { held: { held: true } },
      body: { fields: [{ held: 'by whom' }] },
    });
    const upgraded = {
      messageTruncated: 4,
      properties,
      errors: [{ chain: [{ messageTruncated: 5, properties }] }],
    };
    expect(profile.panels.exception?.data).to.deep.equal({
      errors: [{ atMs: 1, thrown: { chain: [upgraded] } }],
    });
  });

  it('of today is left alone', () => {
    const fields = { version: 3, storedBecause: 'failed', dropped: { log: 2 } } as const;
    const panels = { runtime: { data: { held: [1] } } };
    const profile = complete({ ...fields, panels });
    expect(profile).to.deep.include(fields);
    expect(profile.panels.runtime?.data).to.deep.equal({ held: [1] });
  });
});
