import { expect } from 'chai';
import { codeHelpers } from '../../app/view-helpers/code.ts';
import { cpuMsOf } from '../support/waiting.ts';

describe('code as pages show it', () => {
  it('takes no time to colour JSON that is made to be slow', () => {
    const slow = `${'"\\'.repeat(2499)}\r\n`.repeat(16);
    expect(cpuMsOf(() => codeHelpers.jsonText(slow, { label: 'Body' }))).to.be.lessThan(100);
  });
});
