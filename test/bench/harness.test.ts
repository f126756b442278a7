/** What the figures of the benchmark rest on: quantiles, the accounting of CPU, the load generator. */
import { expect } from 'chai';
import { type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { cpuOf, memoryOf } from '../../bench/harness/cpu.ts';
import { tableOf } from '../../bench/harness/figure.ts';
import { closedLoop, openLoop } from '../../bench/harness/load.ts';
import { spreadOf } from '../../bench/harness/statistics.ts';
import { close, listen } from '../support/listen.ts';

async function serving<T>(listener: RequestListener, work: (port: number) => Promise<T>): Promise<T> {
  const { server } = await listen(listener);
  try {
    return await work((server.address() as AddressInfo).port);
  } finally {
    await close(server);
  }
}

describe('the harness of the benchmark', () => {
  it('tells median and quartiles', () => {
    expect(spreadOf([4, 1, 3, 2, 5])).to.deep.equal({ median: 3, low: 2, high: 4 });
    expect(spreadOf([1, 2]).median).to.equal(1.5);
  });

  it('prints medians with their quartiles', () => {
    const figures = [{ what: 'CPU', unit: 'µs', spread: { median: 10, low: 9.5, high: NaN } }];
    expect(tableOf(figures)).to.include('| CPU | 10.0 [9.50..-] µs |');
  });

  it('counts the CPU of a busy process', function () {
    if (process.platform !== 'linux') this.skip();
    const before = cpuOf(process.pid);
    const used = process.cpuUsage();
    // By the processor's clock: a busy machine may give it none for a while.
    for (let spent = 0; spent < 100_000;) {
      const { user, system } = process.cpuUsage(used);
      spent = user + system;
    }
    const after = cpuOf(process.pid);
    expect(after.all - before.all).to.be.greaterThan(50_000);
    expect(after.main).to.be.at.most(after.all);
    expect(memoryOf(process.pid)).to.be.greaterThan(10_000_000);
  });

  it('asks as many times as it is told, and reads answers that come in pieces', async () => {
    const load = await serving(
      (_request, response) => {
        response.setHeader('content-length', 6);
        response.write('abc');
        setTimeout(() => response.end('def'), 2);
      },
      (port) => closedLoop({ port, path: '/' }, { requests: 40 }),
    );
    expect(load).to.include({ requests: 40, errors: 0 });
    expect(load.latencies).to.have.length(40);
  });

  it('counts answers that are no 200', async () => {
    const load = await serving(
      (_request, response) => {
        response.statusCode = 500;
        response.end('failed');
      },
      (port) => openLoop({ port, path: '/' }, { perSecond: 200, ms: 100 }),
    );
    expect(load).to.include({ requests: 20, errors: 20 });
  });

  it('counts latency of an open loop from when a request was due', async () => {
    const startedAt = performance.now();
    const load = await serving(
      (_request, response) => {
        // All wait for the one stall.
        setTimeout(() => response.end('late'), Math.max(0, startedAt + 300 - performance.now()));
      },
      (port) => openLoop({ port, path: '/' }, { perSecond: 100, ms: 100 }),
    );
    expect(load.requests).to.equal(10);
    expect(Math.max(...load.latencies)).to.be.greaterThan(200);
  });
});
