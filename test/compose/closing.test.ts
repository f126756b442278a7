import { AsyncResource } from 'node:async_hooks';
import { expect } from 'chai';
import express from 'express';
import request from 'supertest';
import hindsight from '../../app/index.ts';

/** On Node 20 and 22 each AsyncLocalStorage in use leaves a property on all that is created; later versions have one for all. */
const propertiesOfNew = (): number => Object.getOwnPropertySymbols(new AsyncResource('test')).length;

describe('a profiler that was closed', () => {
  it('follows nothing that the process still does', async () => {
    const before = propertiesOfNew();
    const app = express();
    const profiler = hindsight(app, { warn: () => undefined });
    app.get('/', (_request, response) => void response.send('fine'));
    await request(app).get('/').expect(200, 'fine');
    await profiler.close();
    expect(propertiesOfNew()).to.equal(before);
  });

  it('leaves what the application has frozen since, which then only calls the original', async () => {
    const app = express();
    const profiler = hindsight(app, { warn: () => undefined });
    const router = express.Router();
    const names: string[] = [];
    router.param('name', (_request, _response, next, name: string) => {
      names.push(name);
      next();
    });
    router.get('/:name', (_request, response) => void response.send('fine'));
    app.use(router);
    await request(app).get('/first').expect(200, 'fine').expect('x-debug-token', /./);
    for (const callbacks of Object.values((router as unknown as { params: object }).params))
      Object.freeze(callbacks);
    Object.freeze(app);
    await profiler.close();
    const { headers } = await request(app).get('/second').expect(200, 'fine');
    expect(headers).to.not.have.property('x-debug-token');
    expect(names).to.deep.equal(['first', 'second']);
  });

  it('cannot be attached to an application that is frozen, and says so', () => {
    const app = Object.freeze(express());
    expect(() => hindsight(app, { warn: () => undefined })).to.throw(
      'attach the profiler before you freeze it',
    );
  });
});
