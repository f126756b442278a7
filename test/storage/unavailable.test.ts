/** What is said of a database that can't be used. */
import { expect } from 'chai';
import { explain, failureOf } from '../../app/storage/unavailable.ts';

describe('a failure in another thread', () => {
  it('says why, where each address of a name has refused', () => {
    const refusals = ['::1', '127.0.0.1'].map((host) => new Error(`connect ECONNREFUSED ${host}:5432`));
    const failure = failureOf(Object.assign(new AggregateError(refusals), { code: 'ECONNREFUSED' }));
    expect(failure.code).to.equal('ECONNREFUSED');
    const told = explain(Object.assign(new Error(failure.message), { code: failure.code }), 1000);
    expect(told.message).to.match(/: connect ECONNREFUSED ::1:5432\.$/);
  });
});
