/** What is said of a database that can't be used. */
import { expect } from 'chai';
import { explain } from '../../app/storage/postgres/postgres-store.ts';

it('a database that can not be reached is explained, where each address of a name has refused', () => {
  const refusals = ['::1', '127.0.0.1'].map((host) => new Error(`connect ECONNREFUSED ${host}:5432`));
  const told = explain(Object.assign(new AggregateError(refusals), { code: 'ECONNREFUSED' }), 1000);
  expect(told.message).to.match(/: connect ECONNREFUSED ::1:5432\.$/);
});
