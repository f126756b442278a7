/**
 * Serves the profiler's pages over sample profiles, to look at them: `npx tsx test/support/serve-pages.ts [port]`. `/styles` is
 * the style page.
 * Templates are read anew for each page. Ends with Ctrl-C, or by itself after an hour.
 */
import { createPageFixture } from './page-fixture.ts';
import { servePages } from './page-client.ts';
import { recordSamples, samplePanels, sampleRule } from './page-samples.ts';
import { renderStylePage } from './style-page.ts';

const AN_HOUR = 3_600_000;
const fixture = createPageFixture(samplePanels(), { rules: [sampleRule] });
await recordSamples(fixture);
const pages: typeof fixture.pages = (req, res, next) => {
  if (req.url === '/styles') res.setHeader('content-type', 'text/html; charset=UTF-8').end(renderStylePage());
  else fixture.pages(req, res, next);
};
const server = await servePages(pages, {
  port: Number(process.argv[2] ?? 4321),
  renderPage: fixture.services.renderPage,
});
console.log(`${server.address}/_profiler/ and ${server.address}/styles`);
setTimeout(() => void server.close(), AN_HOUR);
