import { expect } from 'chai';
import { ranOf } from '../../app/panels/overview/ran.ts';
import { createRoutingPanel } from '../../app/panels/routing/index.ts';
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

  it('are what is mounted below a path and responds to all of it, and no package as a line', () => {
    const layers = [
      layer({ name: 'jsonParser', startMs: 0.1, nextMs: 0.4 }),
      layer({ name: '<anonymous>', pattern: '/trpc', source: 'src/server.ts:15', startMs: 1, nextMs: null, outcome: 'running' }), // prettier-ignore
    ];
    const routing = { layers, route: { pattern: '/trpc' } };
    const ran = (kept: object, route: string | null) =>
      ranOf({ method: 'POST', route, panels: { routing: { data: kept }, request: { data: {} } } } as unknown as Profile); // prettier-ignore
    const { handler, before } = ran(routing, '/trpc · parts.delivery');
    expect(handler).to.include({
      name: 'POST /trpc',
      isHandler: true,
      isMounted: true,
      place: 'src/server.ts:15',
    });
    expect(before).to.deep.equal(['jsonParser']);
    const [span, mounted] = createRoutingPanel().recorded?.spans?.(routing as never, { endMs: 9, profile: { child: null } } as never) ?? []; // prettier-ignore
    expect([span?.kind, mounted?.kind]).to.deep.equal(['middleware', 'app']);
    const refused = ran({ layers, route: null }, null);
    expect([refused.handler, refused.answered?.name]).to.deep.equal([null, 'middleware /trpc']);
    const packaged = { layers: [layer({ name: 'Orders.find', kind: 'handler', source: '@nestjs/core', startMs: 1, nextMs: null })] }; // prettier-ignore
    expect(ran(packaged, '/orders').handler?.place).to.equal(null);
  });

  it('are the middleware that responded, not a route that had called next()', () => {
    const passedOn = layer({ name: 'all', kind: 'handler', pattern: '/{*path}', startMs: 1, nextMs: 1, outcome: 'next' }); // prettier-ignore
    const ran = (pattern: string) => {
      const layers = [passedOn, layer({ name: 'serveStatic', pattern, startMs: 2, nextMs: null, outcome: 'running' })]; // prettier-ignore
      return ranOf({ method: 'GET', route: pattern, panels: { routing: { data: { layers, route: { pattern } } }, request: { data: {} } } } as unknown as Profile); // prettier-ignore
    };
    expect([ran('/').handler, ran('/').answered?.name]).to.deep.equal([null, 'serveStatic']);
    expect(ran('/api').handler).to.include({ name: 'GET /api', isMounted: true });
  });

  it('are the handler that responded, not what ran after it had called next()', () => {
    expect(ranOf(profile('', 1.3)).answered?.handler).to.equal('health');
    expect(ranOf(profile('', 2)).answered?.handler).to.equal('notFound');
    const layers = [
      layer({ name: 'slow', kind: 'handler', pattern: '/slow', startMs: 1, nextMs: 3, outcome: 'next' }),
      layer({ name: 'one', kind: 'handler', pattern: '/:id', startMs: 4, nextMs: 1, outcome: 'next' }),
    ];
    const ran = (kept: unknown[]) =>
      ranOf({ method: 'GET', route: '/slow', panels: { routing: { data: { layers: kept } }, request: { data: { response: { headersAtMs: 3 } } } } } as unknown as Profile); // prettier-ignore
    for (const { handler, answered } of [ran(layers), ran(layers.slice(0, 1))])
      expect([handler?.handler, answered?.handler]).to.deep.equal(['slow', 'slow']);
  });
});
