import { expect } from 'chai';
import { createRouteTimes } from '../../app/profiler/record/recorder.ts';

describe('times of routes', () => {
  it('have a median from five requests on, each counted once', () => {
    const times = createRouteTimes();
    for (const ms of [1, 2, 3, 4]) times.add('GET /a', `t${ms}`, ms);
    times.add('GET /a', 't4', 4);
    expect(times.usualMs('GET /a')).to.equal(null);
    times.add('GET /a', 't5', 100);
    expect(times.usualMs('GET /a')).to.equal(3);
    expect(times.usualMs('GET /b')).to.equal(null);
  });

  it('are those of the latest requests', () => {
    const times = createRouteTimes();
    for (let index = 0; index < 100; index++) times.add('GET /a', `t${index}`, index < 60 ? 1 : 50);
    expect(times.usualMs('GET /a')).to.equal(50);
  });

  it('are kept of a limited number of routes', () => {
    const times = createRouteTimes();
    for (let route = 0; route < 501; route++)
      for (let index = 0; index < 5; index++) times.add(`GET /${route}`, `t${index}`, 1);
    expect(times.usualMs('GET /499')).to.equal(1);
    expect(times.usualMs('GET /500')).to.equal(null);
  });
});
