/**
 * Preloaded into the service (`--import`): routes that end its process. Mounted before the service's own 404, so that they are routes of an
 * owner. `GET /throw?kind=…` throws from a timer that the request started, `GET /reject?kind=…` rejects there.
 */
import { createRequire } from 'node:module';

const { application, Router } = createRequire(import.meta.url)('express');

function revoked() {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

const KINDS = {
  plain: () => new Error('the cable was pulled'),
  revoked,
};

const routes = Router();
routes.get('/throw', (req) => {
  setTimeout(() => {
    throw KINDS[req.query.kind]();
  });
});
routes.get('/reject', (req) => {
  setTimeout(() => void Promise.reject(KINDS[req.query.kind]()));
});

const { use } = application;
let isMounted = false;
application.use = function (...given) {
  if (given.at(-1)?.name === 'notFound' && !isMounted) {
    isMounted = true;
    use.call(this, routes);
  }
  return use.apply(this, given);
};
