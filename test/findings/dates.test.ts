import { expect } from 'chai';
import type { Json } from '../../app/profiler/json.ts';
import { keptQueries, keptRequest } from '../support/kept-queries.ts';
import { draftsOf, sentencesOf } from '../support/find-by-rule.ts';

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
    return sentencesOf('hour-moved', { database, request });
  }
  const moments = weekly('2025-10-14T16:00:00.000Z', 4);
  const at = (...hours: string[]): string[] => hours.map((hour, n) => `Tue ${n + 1} Oct 2025, ${hour}`);

  it('names the times of day before and after the clocks changed', () => {
    expect(found(moments, at('18:00', '18:00', '17:00', '17:00'))).to.deep.equal([
      'insert into lessons got 4 moments that are whole days of 24 hours apart, so the time of day moved from 18:00 to 17:00 when the clocks changed',
    ]);
  });

  function foundIn(kept: object): string[] {
    return sentencesOf('hour-moved', kept);
  }

  it('reads runs of one statement, beside other moments, in the time zone that a row names', () => {
    const run = (moment: string) => ({
      sql: 'insert into bookings (starts_at, ends_at) values ($1, $2)',
      bindings: { starts_at: moment, ends_at: new Date(Date.parse(moment) + 86_400_000).toISOString() },
    });
    const room = (zone: string) => ({
      sql: 'select zone from rooms where id = $1',
      bindings: { id: 1 },
      found: [{ zone }],
    });
    const written = weekly('2026-03-17T08:00:00.000Z', 4);
    const kept = (zone: string, all: readonly string[]) => {
      const database = keptQueries(room(zone), ...all.map(run));
      // A record has the text of each statement once.
      for (const query of database.queries.slice(1)) query.statement = 1;
      return { database, request: keptRequest({ sent: { ok: true } }) };
    };
    expect(foundIn(kept('Europe/Berlin', written))).to.deep.equal([
      'insert into bookings got 4 moments that are whole days of 24 hours apart, so the time of day in Europe/Berlin moved from 09:00 to 10:00 when the clocks changed',
    ]);
    expect(foundIn(kept('Asia/Tokyo', written)), 'no clock changes').to.deep.equal([]);
    expect(foundIn(kept('Not/Azone', written)), 'no zone').to.deep.equal([]);
    expect(foundIn(kept('Europe/Berlin', weekly('2026-03-17T00:00:00.000Z', 4))), 'days').to.deep.equal([]);
  });

  it('reads rows and the text of a page', () => {
    const rows = weekly('2026-10-05T16:30:00.000Z', 4);
    const page = (...clocks: string[]) => ({
      database: keptQueries({
        sql: 'select starts_at from lessons where course_id = $1',
        bindings: { course_id: 1 },
        found: rows.map((moment) => ({ starts_at: moment })),
        rows: clocks.length,
      }),
      request: {
        ...keptRequest(),
        response: { text: `<!doctype html><ul>${clocks.map((one) => `<li>${one}</li>`).join('')}</ul>` },
      },
    });
    expect(foundIn(page('18:30', '18:30', '18:30', '17:30', '17:30'))).to.deep.equal([
      'select … from lessons returned 5 moments that are whole days of 24 hours apart, so the time of day moved from 18:30 to 17:30 when the clocks changed',
    ]);
    expect(foundIn(page('18:30', '18:30', '18:30', '18:30', '18:30'))).to.deep.equal([]);
    expect(foundIn(page('18:30', '17:30', '18:30', '17:30', '18:30'))).to.deep.equal([]);
  });

  it('names the request that wrote a moment that is shown an hour off', () => {
    const insert = (all: readonly string[]) => ({
      head: { token: 'aaaaaa', method: 'POST', url: '/series', route: '/series', status: 201 },
      kept: {
        database: keptQueries({
          sql: `insert into lessons (starts_at) values ${all.map(() => '(?)').join(', ')}`,
          bindings: all.map((moment) => ['starts_at', moment] as const),
          caller: 'src/series.ts:14',
        }),
        request: keptRequest({ body: { first: '2026-10-07T18:00' } }),
      },
    });
    const shown = (clocks: string[], written = weekly('2026-10-07T16:00:00.000Z', 8)) => {
      const kept = {
        database: keptQueries({
          sql: 'select * from lessons where starts_at > $1',
          bindings: { $1: '2026-11-01T23:00:00.000Z' },
          found: [{ starts_at: '2026-11-03T09:00:00.000Z' }, { starts_at: written[4] ?? '' }],
        }),
        request: keptRequest({ sent: { lessons: clocks } }),
      };
      return draftsOf('hour-moved', kept, {}, { siblings: [insert(written)] });
    };
    const [draft] = shown(['10:00 Raku', '17:00 Throwing']);
    expect(draft).to.include({ broke: 'response', anchor: 'q1', place: 'src/series.ts:14' });
    expect(draft?.sentence).to.equal(
      'select … from lessons returned 2026-11-04 17:00: POST /series (aaaaaa) received 18:00 for 2026-10-07, and wrote 8 moments that are whole days of 24 hours apart. The clocks changed in between',
    );
    expect(shown(['10:00', '17:00', '18:00']), 'both').to.deep.equal([]);
    expect(shown(['11:00', '18:00']), 'no change').to.deep.equal([]);
    expect(shown(['09:00', '17:00']), 'not all').to.deep.equal([]);
    const byClock = ['2026-10-07T16:00:00.000Z', '2026-10-14T16:00:00.000Z', '2026-10-21T16:00:00.000Z'];
    const written = [...byClock, '2026-10-28T17:00:00.000Z', '2026-11-04T17:00:00.000Z'];
    expect(shown(['10:00', '18:00'], written), 'by the clock').to.deep.equal([]);
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

describe('finding month-first', () => {
  function found(given: string, bound: string): string[] {
    const database = keptQueries({
      sql: 'insert into sweepings (swept_on) values ($1)',
      bindings: { swept_on: bound },
    });
    const request = keptRequest({ body: { sweptOn: given } });
    return sentencesOf('month-first', { database, request });
  }

  it('names a date whose day and month were exchanged, as a day and as a local midnight', () => {
    expect(found('04.03.2025', '2025-04-03')).to.deep.equal([
      'insert into sweepings got 2025-04-03 for sweptOn 04.03.2025: day and month are exchanged, 2025-03-04 was sent',
    ]);
    expect(found('4. 3. 2025', '2025-04-02T22:00:00.000Z')).to.have.length(1);
  });

  it('is silent about the right day, a day that is its own month, and other texts', () => {
    expect(found('04.03.2025', '2025-03-04')).to.deep.equal([]);
    expect(found('04.03.2025', '2025-03-03T23:00:00.000Z')).to.deep.equal([]);
    expect(found('04.04.2025', '2025-04-04')).to.deep.equal([]);
    expect(found('14.03.2025', '2025-03-14')).to.deep.equal([]);
    expect(found('04/03/2025', '2025-04-03'), 'may be American').to.deep.equal([]);
    expect(found('04.03.2025', '2025-04-02'), 'another day').to.deep.equal([]);
  });
});

describe('finding moment-made-once', () => {
  const MADE = '2026-12-01T02:53:59.790Z';
  const at = (clock: string): number => Date.parse(`2026-12-01T${clock}Z`);
  const stay = (value: Json, { column = 'entered_at', body = {}, read = '' } = {}) => ({
    request: keptRequest({ body, sent: { enteredAt: value } }),
    database: keptQueries(
      { sql: 'select seen_at from plates where plate = $1', found: [{ seen_at: read }] },
      {
        sql: `insert into stays (plate, ${column}) values ($1, $2)`,
        bindings: { plate: 'A', [column]: value },
      },
    ),
  });
  const head = { startedAt: at('02:54:07.141') };
  const of = (kept: object, before: Json | null, started = '02:40:00.000'): string[] =>
    sentencesOf('moment-made-once', kept, head, {
      shared: {
        configuration: { process: [{ name: 'startedAt', value: new Date(at(started)).toISOString() }] },
      },
      earlier:
        before === null
          ? []
          : [
              {
                head: {
                  token: 'aaaaaa',
                  method: 'POST',
                  url: '/stays',
                  route: '/stays',
                  startedAt: at('02:54:03.000'),
                },
                kept: stay(before),
              },
            ],
    });
  const start = 'insert into stays wrote entered_at as 02:53:59.790, 7.35 s before this request began and';

  it('compares the moment with that of an earlier request, and with the start of the process', () => {
    expect(of(stay(MADE), MADE)).to.deep.equal([
      `${start} the same as in POST /stays (aaaaaa): it was computed once, not for each request`,
    ]);
    expect(of(stay(Date.parse(MADE)), MADE)).to.have.length(1);
    expect(of(stay(MADE), null, '02:53:59.353')).to.deep.equal([
      `${start} 437.0 ms after the process started: it was computed once, not for each request`,
    ]);
  });

  it('finds nothing if the value is young, was received or read, or proves nothing', () => {
    expect(of(stay(MADE), null), 'nothing to compare it with').to.deep.equal([]);
    expect(of(stay(MADE), '2026-12-01T02:53:58.790Z')).to.deep.equal([]);
    const now = '2026-12-01T02:54:07.143Z';
    expect(of(stay(now), now)).to.deep.equal([]);
    const whole = '2026-12-01T02:53:59.000Z';
    expect(of(stay(whole), whole)).to.deep.equal([]);
    expect(of(stay(MADE, { body: { enteredAt: MADE } }), MADE)).to.deep.equal([]);
    expect(of(stay(MADE, { body: { at: Date.parse(MADE) } }), MADE)).to.deep.equal([]);
    expect(of(stay(MADE, { read: '2026-12-01 02:53:59.790+00' }), MADE)).to.deep.equal([]);
    expect(of(stay(MADE, { column: 'process_started_at' }), null, '02:53:59.353')).to.deep.equal([]);
  });
});
