import { expect } from 'chai';
import type { Finding, Profiler } from '../../app/index.ts';
import { withFindingsApp } from '../support/findings-app.ts';
import { until } from '../support/waiting.ts';

describe('finding unhandled-rejection', () => {
  let profiler: Profiler;
  const ask = withFindingsApp((app, made) => {
    profiler = made;
    // As Node tells of it, right before the process ends by it.
    app.get('/rejected', (_req, res) => {
      (process as NodeJS.EventEmitter).emit(
        'uncaughtExceptionMonitor',
        new RangeError('lost'),
        'unhandledRejection',
      );
      res.send('x');
    });
    app.get('/thrown', (_req, res) => {
      res.send('x');
      setTimeout(() => {
        (process as NodeJS.EventEmitter).emit(
          'uncaughtExceptionMonitor',
          new TypeError('lost'),
          'uncaughtException',
        );
      }, 20);
    });
    app.get('/handled', (_req, res) => {
      Promise.reject(new Error('known')).catch(() => undefined);
      res.send('x');
    });
  });

  it('says what was rejected, when and where', async () => {
    const [finding] = (await ask('/rejected')).of('unhandled-rejection');
    expect(finding).to.include({ label: 'unhandled rejection', severity: 'bad', anchor: 'error-1' });
    expect(finding?.sentence).to.match(
      /^Unhandled rejection: RangeError: lost, \S+ m?s after the request started$/,
    );
    expect(finding?.place).to.match(/^test\/findings\/unhandled-rejection\.test\.ts:\d+$/);
  });

  it('reports an uncaught exception after the response', async () => {
    const { profile } = await ask('/thrown');
    // A profile is written again when nothing has come for a while.
    let finding: Finding | undefined;
    await until(async () => {
      const again = await profiler.profiles.read(profile.token);
      finding = again?.profile.findings.find(({ rule }) => rule === 'unhandled-rejection');
      return finding !== undefined;
    }, 'the profile is written again');
    expect(finding?.label).to.equal('uncaught exception');
    expect(finding?.sentence).to.match(/^Uncaught exception: TypeError: lost, \S+ m?s after the response$/);
  });

  it('ignores a handled rejection', async () => {
    expect((await ask('/handled')).findings).to.deep.equal([]);
  });
});
