/** The shop's routers in order. The webhook reads the body itself; the others get it parsed. */
import helmet from 'helmet';
import { createWebhook } from '../../webhook/router.ts';
import createApi from './api.ts';
import createEvents from './events.ts';
import createPages from './pages.ts';

/** HSTS and upgrade-insecure-requests apply to a whole domain, so its owner decides, not an example. */
const securityHeaders = helmet({
  strictTransportSecurity: false,
  contentSecurityPolicy: { directives: { upgradeInsecureRequests: null } },
});

export function createRoutes({ webhookSecret }: { webhookSecret: string }) {
  return [
    { mount: '/', router: () => securityHeaders, parsers: 'before' },
    { mount: '/webhook', router: createWebhook({ secret: webhookSecret }), parsers: 'before' },
    { mount: '/events', router: createEvents, parsers: 'before' },
    { mount: '/api', router: createApi, parsers: 'after' },
    { mount: '/', router: createPages, parsers: 'after' },
  ] as const;
}
