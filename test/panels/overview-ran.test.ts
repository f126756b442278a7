import { expect } from 'chai';
import { ranOf } from '../../app/panels/overview/ran.ts';
import type { Profile } from '../../app/profiler/profile.ts';
import { layer } from '../support/observed-samples.ts';

describe('the layers that the overview names', () => {
  const profile = (contentType: string, headersAtMs: number): Profile =>
    ({
      route: '/health',
      panels: {
        routing: {
          data: {
            layers: [
              layer({ name: 'jsonParser', startMs: 0.1, nextMs: 0.4 }),
              layer({ name: 'urlencodedParser', startMs: 0.5, nextMs: 0.1 }),
              layer({ name: 'health', kind: 'handler', startMs: 1, nextMs: 0.4, outcome: 'next' }),
              layer({ name: 'notFound', startMs: 1.5, nextMs: null, outcome: 'running' }),
            ],
          },
        },
        request: { data: { body: { contentType }, response: { headersAtMs } } },
      },
    }) as unknown as Profile;

  it('are the parser of the type, not the last one that ran', () => {
    expect(ranOf(profile('application/json', 2)).parser?.name).to.equal('express.json');
    expect(ranOf(profile('application/x-www-form-urlencoded', 2)).parser?.name).to.equal(
      'express.urlencoded',
    );
    expect(ranOf(profile('application/x-other', 2)).parser?.name).to.equal('express.urlencoded');
  });

  it('are the handler that responded, not what ran after it had called next()', () => {
    expect(ranOf(profile('', 1.3)).answered?.handler).to.equal('health');
    expect(ranOf(profile('', 2)).answered?.handler).to.equal('notFound');
  });
});
