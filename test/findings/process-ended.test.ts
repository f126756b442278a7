import { expect } from 'chai';
import type { ProfileHead } from '../../app/profiler/profile.ts';
import { draftsOf } from '../support/find-by-rule.ts';

/** That a real process has it: test/package/process-end.test.ts. */
describe('finding process-ended', () => {
  function find(head: Partial<ProfileHead>) {
    return draftsOf('process-ended', {}, { error: null, ...head });
  }

  it('names what ended the process, and links to its error', () => {
    const error = { name: 'TypeError', message: 'no total' };
    expect(find({ endedProcess: 'an uncaught exception', error })).to.deep.equal([
      {
        severity: 'bad',
        broke: 'response',
        sentence: 'This request ended its process by an uncaught exception',
        panel: 'exception',
      },
    ]);
  });

  it('links to the timeline where nothing was thrown', () => {
    expect(find({ endedProcess: 'exit code 3' })[0]?.panel).to.equal('timeline');
  });

  it('finds nothing in a request that was merely cut off', () => {
    expect(find({ outcome: 'cut off' })).to.deep.equal([]);
  });
});
