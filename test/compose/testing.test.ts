/** What `express-hindsight/testing` demands of a response, as each test runner asks for it. */
import * as chai from 'chai';
import express from 'express';
import { AssertionError } from 'node:assert';
import request from 'supertest';
import hindsight, { type Profiler } from '../../app/index.ts';
import * as testing from '../../app/testing.ts';
import { checks } from '../../app/compose/testing/checks.ts';
import { call, query } from '../support/observed-samples.ts';
import { until } from '../support/waiting.ts';

const { expect } = chai;

describe('express-hindsight/testing', () => {
  const app = express();
  let profiler: Profiler;

  before(() => {
    profiler = hindsight(app, {
      observe: false,
      warn: () => undefined,
      onRequest: [
        (context) => {
          context.add(
            'call',
            call({ method: 'POST', url: 'http://mail.test/send', caller: 'src/mail.ts:7' }),
          );
          for (let id = 1; id <= 5; id++)
            context.add(
              'query',
              query({ sql: 'select #{this} where id = $1', bindings: [id], startMs: id, durationMs: 1, caller: 'src/orders.ts:41' }),
            ); // prettier-ignore
        },
      ],
    });
    app.get('/orders', (_request, response) => response.json([]));
    app.get('/loop', (_request, response) => {
      for (const from = process.cpuUsage(); process.cpuUsage(from).user < 20_000;);
      response.json([]);
    });
  });
  after(() => profiler.close());

  function failureOf(work: () => unknown): Error {
    try {
      work();
    } catch (error) {
      return error as Error;
    }
    throw new Error('It passed.');
  }

  it('passes, or fails with the panel that shows why', async () => {
    const response = await request(app).get('/orders').expect(200);
    testing.queriesBelow(response, 6);
    testing.called(response, 'post', /mail/);
    testing.called(response, 'POST', 'mail.test/send');
    testing.notCalled(response, 'GET', /mail/);
    testing.cpuBelow(response, '60 s');

    const queries = failureOf(() => testing.queriesBelow(response, 5));
    expect(queries).to.be.instanceOf(AssertionError);
    expect(queries.message).to.match(/^GET \/orders ran 5 queries; expected fewer than 5\.\n/);
    expect(queries.message)
      .to.contain('**N+1**')
      .and.contain('`src/orders.ts:41`')
      .and.contain('How to fix it:');
    expect(queries.message.split('\n').length).to.be.below(40);
    expect(queries.stack)
      .to.match(/\n +at .*testing\.test\.ts/)
      .and.not.contain('checks.ts');
    expect(failureOf(() => testing.noNPlusOne(response)).message)
      .to.match(/^GET \/orders has 1 N\+1; expected none\./)
      .and.contain('src/orders.ts:41');
    expect(failureOf(() => testing.noFindings(response)).message).to.match(
      /^GET \/orders has \d+ findings?;/,
    );
    const rules = (await profiler.profiles.read(response.get('x-debug-token')!))!.profile.findings;
    testing.noFindings(response, { except: rules.map(({ rule }) => rule!) });
    expect(failureOf(() => testing.called(response, 'GET', /mail/)).message)
      .to.match(/^GET \/orders did not call GET \/mail\/\./)
      .and.contain('`http://mail.test/send`')
      .and.contain('`src/mail.ts:7`');
    expect(failureOf(() => testing.notCalled(response, 'POST', /mail/)).message).to.contain(
      'expected no such call',
    );
  });

  it('measures processor time', async () => {
    const response = await request(app).get('/loop').expect(200);
    testing.cpuBelow(response, '60 s');
    const { message } = failureOf(() => testing.cpuBelow(response, '0.5 ms'));
    expect(message).to.match(/^GET \/loop took [\d.]+ m?s of CPU time; expected less than 0\.5 ms\./);
    expect(message).to.contain('CPU of the process');
  });

  it('is a plugin of chai, which leaves the spies of other plugins alone', async () => {
    const response = await request(app).get('/orders').expect(200);
    chai.use(({ Assertion }) => {
      Object.defineProperty(Assertion.prototype, 'called', {
        configurable: true,
        get: () => 'of sinon-chai',
      });
    });
    chai.use(testing.hindsightChai);
    expect(response).to.have.queriesBelow(6).and.called('POST', /mail/);
    expect(response).to.not.have.called('GET', /mail/);
    const error = failureOf(() => expect(response).to.have.queriesBelow(5));
    expect(error).to.be.instanceOf(chai.AssertionError);
    expect(error.message).to.contain('ran 5 queries').and.contain('select #{this}');
    expect(failureOf(() => expect(response).to.not.have.called('POST', /mail/)).message).to.contain(
      'no such call',
    );
    expect(expect(() => undefined).to.have.been.called).to.equal('of sinon-chai');
  });

  it('are matchers of Jest and Vitest, one for each check', async () => {
    const response = await request(app).get('/orders').expect(200);
    const { toHaveQueriesBelow, toHaveMadeCall, toHaveNoNPlusOne } = testing.hindsightMatchers;
    expect(toHaveQueriesBelow(response, 6).pass).to.equal(true);
    expect(toHaveQueriesBelow(response, 6).message()).to.contain('expected 6 or more');
    expect(toHaveNoNPlusOne(response).pass).to.equal(false);
    expect(toHaveNoNPlusOne(response).message()).to.contain('src/orders.ts:41');
    expect(toHaveMadeCall(response, 'POST', 'mail').pass).to.equal(true);
    expect(Object.keys(testing.hindsightMatchers)).to.have.lengthOf(Object.keys(checks).length);
  });

  it('reads every kind of response, also after its profile was stored', async () => {
    const { headers } = await request(app).get('/nowhere').expect(404);
    const token = String(headers['x-debug-token']);
    const source = async () => (await profiler.profiles.read(token))?.source;
    const before = failureOf(() => testing.queriesBelow({ headers }, 0)).message;
    await until(async () => (await source()) === 'stored', 'the profile is stored');
    expect(
      failureOf(() => testing.queriesBelow({ headers: new Headers({ 'x-debug-token': token }) }, 0)).message,
    ).to.equal(before);
    expect(before).to.match(/^GET \/nowhere ran 5 queries; expected fewer than 0\./);
  });

  it('says what is wrong with the test', async () => {
    const response = await request(app).get('/orders').expect(200);
    for (const [work, sentence] of [
      [() => testing.noFindings({ headers: {} }), 'no header x-debug-token'],
      [() => testing.noFindings(null as never), 'no header x-debug-token'],
      [() => testing.noFindings({ headers: { 'x-debug-token': 'ffffff' } }), 'No profile with token ffffff'],
      [() => testing.cpuBelow(response, 'soon'), '"soon" is not a duration'],
      [() => testing.queriesBelow(response, '5' as never), '"5" is not a number of queries'],
    ] as const) {
      const error = failureOf(work);
      expect(error).to.be.instanceOf(TypeError);
      expect(error.message).to.contain(sentence);
    }
  });
});
