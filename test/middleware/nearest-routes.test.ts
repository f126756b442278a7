import { expect } from 'chai';
import { nearestRoutes } from '../../app/middleware/nearest-routes.ts';
import { cpuMsOf } from '../support/waiting.ts';

const entry = (method: string, pattern: string) => ({ method, pattern, handler: null, source: null });
const routes = [
  entry('GET', '/orders'),
  entry('POST', '/orders'),
  entry('GET', '/orders/:id'),
  entry('GET', '/api/v1/customers'),
  entry('GET', '/about/'),
  entry('GET', '/Imprint'),
];

function near(method: string, path: string): string[] {
  return nearestRoutes(routes, method, path).map(
    ({ method: own, pattern, reason, distance }) => `${own} ${pattern} ${reason} ${distance}`,
  );
}

describe('the nearest routes', () => {
  it('tell a method, a slash, a mount, a case and a spelling apart, nearest first', () => {
    expect(near('PUT', '/orders').slice(0, 2)).to.deep.equal([
      'GET /orders method 0',
      'POST /orders method 0',
    ]);
    expect(near('GET', '/about')).to.deep.equal(['GET /about/ slash 0']);
    expect(near('GET', '/customers')).to.deep.equal(['GET /api/v1/customers mount 0']);
    expect(near('GET', '/shop/orders')[0]).to.equal('GET /orders mount 0');
    expect(near('GET', '/imprint')).to.deep.equal(['GET /Imprint case 0']);
    expect(near('GET', '/ordesr')[0]).to.equal('GET /orders spelling 1');
    expect(near('POST', '/ordesr')[0]).to.equal('POST /orders spelling 1');
    expect(near('GET', '/order/17')).to.deep.equal(['GET /orders/:id spelling 1']);
  });

  it('are none where nothing is near', () => {
    expect(near('GET', '/completely/else')).to.deep.equal([]);
    expect(near('GET', '/')).to.deep.equal([]);
    expect(nearestRoutes([entry('GET', '/rc/:id')], 'GET', '/oa/pets')).to.deep.equal([]);
  });

  it('cost little, whatever the path', () => {
    const many = Array.from({ length: 2000 }, (_value, index) =>
      entry('GET', `/some/rather/long/path/of/route/number/${index}/and/more`),
    );
    const cpuMs = cpuMsOf(() => {
      nearestRoutes(many, 'GET', `/some/rather/long/path/of/route/number/17/adn/mroe${'x'.repeat(100)}`);
      nearestRoutes(many, 'GET', '/some/rather/long/path/of/route/number/17/adn/mroe');
      nearestRoutes(many, 'GET', `/${'a/'.repeat(5000)}`);
    });
    expect(cpuMs).to.be.lessThan(500);
  });
});
