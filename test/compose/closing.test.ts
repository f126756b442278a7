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
});
