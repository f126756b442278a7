import { expect } from 'chai';
import type { Request, Response } from 'express';
import { withFindingsApp } from '../support/findings-app.ts';

describe('finding query-set', () => {
  const ask = withFindingsApp((app) => {
    app.use('/forgotten', function scope(req, _res, next) {
      req.query.branch = 'Ost';
      next();
    });
    const answer = (req: Request, res: Response) => res.json({ isOst: req.query.branch === 'Ost' });
    app.get('/forgotten', answer);
    app.get('/plain', answer);
  });

  it('names the middleware whose value Express 5 forgets', async () => {
    const { of, body } = await ask('/forgotten');
    expect(body).to.equal('{"isOst":false}');
    const [finding, ...others] = of('query-set');
    expect(finding?.sentence).to.match(/^scope\b.* has code that sets req\.query\.branch: /);
    expect(finding?.place).to.match(/query-set\.test\.ts:7$/);
    expect(others).to.deep.equal([]);
  });

  it('ignores code that compares', async () => {
    expect((await ask('/plain?branch=Ost')).of('query-set')).to.deep.equal([]);
  });
});

describe('finding query-set, where req.query is a property', () => {
  const ask = withFindingsApp((app) => {
    app.use((req, _res, next) => {
      Object.defineProperty(req, 'query', { value: { ...req.query }, writable: true });
      next();
    });
    app.use((req, _res, next) => {
      req.query.branch = 'Ost';
      next();
    });
    app.get('/kept', (req, res) => void res.json(req.query.branch));
  });

  it('says nothing: the value is kept', async () => {
    const { of, body } = await ask('/kept');
    expect(body).to.equal('"Ost"');
    expect(of('query-set')).to.deep.equal([]);
  });
});
