/**
 * The application's own routers, in the order they are asked. Add yours here:
 *
 *   import { orders } from './orders.ts';
 *   export const routes: readonly RouteEntry[] = [{ mount: '/orders', router: orders, parsers: 'after' }];
 *
 * where `orders` is `(services: Services) => Router`. Routers marked `before` stand in front of the body parsers and read
 * the stream themselves (webhook signatures, an own multer); the others find `req.body` and `req.files`.
 */
import type { RouteEntry } from './services.ts';

export const routes: readonly RouteEntry[] = [];
