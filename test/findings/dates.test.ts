import { expect } from 'chai';
import { dateRules } from '../../app/findings/dates.ts';
import { keptQueries, keptRequest } from '../support/kept-queries.ts';

describe('finding hour-moved', () => {
  const WEEK_MS = 7 * 24 * 60 * 60 * 1000;
  const weekly = (from: string, count: number): string[] =>
    Array.from({ length: count }, (_, at) => new Date(Date.parse(from) + at * WEEK_MS).toISOString());

  function found(moments: readonly string[], starts: readonly string[]): string[] {
    const database = keptQueries({
      sql: `insert into lessons (starts_at, minutes) values ${moments.map(() => '(?, 150)').join(', ')}`,
      bindings: moments.map((moment) => ['starts_at', moment] as const),
    });
    const request = keptRequest({ sent: { lessons: starts.map((one) => ({ starts: one })) } });
    const rule = dateRules.find(({ name }) => name === 'hour-moved');
    return (rule?.find({ database, request }, {} as never, {} as never) ?? []).map(
      ({ sentence }) => sentence,
    );
  }
  const moments = weekly('2025-10-14T16:00:00.000Z', 4);
  const at = (...hours: string[]): string[] => hours.map((hour, n) => `Tue ${n + 1} Oct 2025, ${hour}`);

  it('names the times of day before and after the clocks changed', () => {
    expect(found(moments, at('18:00', '18:00', '17:00', '17:00'))).to.deep.equal([
      'insert into lessons got 4 moments that are whole days of 24 hours apart, so the time of day moved from 18:00 to 17:00 when the clocks changed',
    ]);
  });

  it('is silent about the same hour, other hours, other steps and other counts', () => {
    expect(found(moments, at('18:00', '18:00', '18:00', '18:00'))).to.deep.equal([]);
    expect(found(moments, at('18:00', '17:00', '18:00', '17:00')), 'more than one change').to.deep.equal([]);
    expect(found(moments, at('18:00', '18:00', '16:00', '16:00')), 'two hours').to.deep.equal([]);
    const uneven = [...moments.slice(0, 3), '2025-11-04T17:00:00.000Z'];
    expect(found(uneven, at('18:00', '18:00', '17:00', '17:00')), 'by the clock').to.deep.equal([]);
    expect(found(moments, at('18:00', '18:00', '17:00')), 'another list').to.deep.equal([]);
  });
});
