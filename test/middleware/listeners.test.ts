/** Node.js warns from eleven listeners of an event on: the ten are the application's. */
import { expect } from 'chai';
import express from 'express';
import request from 'supertest';
import { hindsight } from '../../app/index.ts';

describe('a watched response', () => {
  it('has the listeners that it has without the profiler', async () => {
    const countsOf = async (isOn: boolean): Promise<unknown> => {
      const app = express();
      const profiler = isOn ? hindsight(app, { warn: () => undefined }) : null;
      app.get('/', (req, res) => {
        const names = ['close', 'finish', 'error', 'pipe', 'drain'];
        res.json(names.map((name) => [name, res.listenerCount(name), req.listenerCount(name)]));
      });
      const { text } = await request(app).get('/');
      await profiler?.close();
      return JSON.parse(text) as unknown;
    };
    expect(await countsOf(true)).to.deep.equal(await countsOf(false));
  });

  it('leaves no warning behind where each test makes an application', async () => {
    const warnings: string[] = [];
    const onWarning = ({ message }: Error): void => void warnings.push(message);
    process.on('warning', onWarning);
    const profilers = [];
    for (let count = 0; count < 12; count++) {
      const app = express();
      profilers.push(hindsight(app, { warn: () => undefined }));
      app.get('/', (_req, res) => res.send('x'));
      await request(app).get('/');
    }
    await new Promise(setImmediate);
    process.off('warning', onWarning);
    for (const profiler of profilers) await profiler.close();
    expect(warnings).to.deep.equal([]);
  });

  it('ends with its client, too', async () => {
    const app = express();
    const profiler = hindsight(app, { warn: () => undefined });
    let token = '';
    app.get('/', (_req, res) => {
      token = String(res.getHeader('x-debug-token'));
      res.destroy();
    });
    await request(app)
      .get('/')
      .catch(() => undefined);
    const found = await profiler.profiles.read(token);
    expect(found?.profile.outcome).to.equal('aborted');
    await profiler.close();
  });
});
