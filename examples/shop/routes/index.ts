/** The shop's routers in order. The webhook reads its own body; the others get what the parsers made of it. */
import { createWebhook } from '../../webhook/router.ts';
import createApi from './api.ts';
import createEvents from './events.ts';
import createPages from './pages.ts';

export function createRoutes({ webhookSecret }: { webhookSecret: string }) {
  return [
    { mount: '/webhook', router: createWebhook({ secret: webhookSecret }), parsers: 'before' },
    { mount: '/events', router: createEvents, parsers: 'before' },
    { mount: '/api', router: createApi, parsers: 'after' },
    { mount: '/', router: createPages, parsers: 'after' },
  ] as const;
}
