import { expect } from 'chai';
import { pathOfTarget } from '../../app/middleware/request-target.ts';

describe('the path of a request target', () => {
  const cases: [target: string, path: string | null][] = [
    ['/a?b', '/a?b'],
    ['//evil.test/a', '//evil.test/a'],
    ['/http://a.test/', '/http://a.test/'],
    ['*', '*'],
    ['http://a.test/b?c=d', '/b?c=d'],
    ['HTTPS://a.test:8443/%2F..', '/%2F..'],
    ['http://a.test', '/'],
    ['http://a.test?q', '/?q'],
    ['http://user:pass@a.test//b', '//b'],
    ['foo://a/b', '/b'],
    ['http://[', null],
    ['http://a:99999999/', null],
    ['http:///', null],
  ];
  for (const [target, path] of cases) {
    it(`${target} -> ${path ?? 'refused'}`, () => {
      expect(pathOfTarget(target)).to.equal(path);
    });
  }
});
