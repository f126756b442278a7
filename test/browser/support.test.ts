/** The tools of browser tests, tried on a page whose faults are known: a silent tool proves nothing. */
import { expect } from 'chai';
import { useBrowser } from '../support/browser.ts';
import { close, listen } from '../support/listen.ts';

const FAULTY = `<!doctype html><title>faulty</title><script>document.title = 'ran'</script><script src="/throws.js"></script>`;

describe('the tools of browser tests', () => {
  const browser = useBrowser();
  let served: Awaited<ReturnType<typeof listen>> | undefined;
  after(() => served && close(served.server));

  it('collect console errors, exceptions and policy violations', async () => {
    served = await listen((request, response) => {
      if (request.url === '/throws.js') {
        response.setHeader('content-type', 'text/javascript');
        response.end('console.error("said"); throw new Error("thrown");');
        return;
      }
      response.setHeader('content-type', 'text/html');
      response.setHeader('content-security-policy', "default-src 'none'; script-src 'self'");
      response.end(FAULTY);
    });
    const { page, problems } = await browser.open();
    await page.goto(served.origin);
    expect(await page.title()).to.equal('faulty');
    const kinds = problems.map((problem) => problem.split(':')[0]);
    expect(kinds).to.include.members(['console', 'exception', 'policy']);
  });
});
