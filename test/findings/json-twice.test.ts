import { expect } from 'chai';
import { withFindingsApp } from '../support/findings-app.ts';

describe('finding json-twice', () => {
  const ask = withFindingsApp((app) => {
    app.get('/twice', (_req, res) => res.json(JSON.stringify([{ id: 1 }])));
    app.get('/once', (_req, res) => res.json([{ id: 1 }]));
    app.get('/text', (_req, res) => res.json('{curly} and [square]'));
    app.get('/plain', (_req, res) => res.type('text').send('"{\\"id\\":1}"'));
  });

  it('reports a string that contains JSON', async () => {
    const [finding] = (await ask('/twice')).of('json-twice');
    expect(finding).to.include({
      label: 'JSON in JSON',
      sentence: 'The response was serialized twice: it is a string that contains JSON',
    });
    expect(finding?.place).to.match(/json-twice\.test\.ts:\d+$/);
  });

  it('ignores JSON, a string with brackets, and another type', async () => {
    for (const path of ['/once', '/text', '/plain']) expect((await ask(path)).of('json-twice'), path).to.deep.equal([]); // prettier-ignore
  });
});
