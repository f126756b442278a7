/** What is stored of a failed request and of its error page: nothing twice, and nothing that only the page's own rendering knows. */
import { expect } from 'chai';
import express from 'express';
import { type Server } from 'node:http';
import { createProfiler, type Profiler } from '../../app/index.ts';
import type { Profile } from '../../app/profiler/profile.ts';
import { close, listen } from '../support/listen.ts';
import { finalProfile } from '../support/final-profile.ts';

interface StoredResponse {
  bytes: number;
  text: string | null;
  truncated: boolean;
  isErrorPage: boolean;
}

describe('a failed request', () => {
  let server: Server;
  let profiler: Profiler;
  let origin: string;

  before(async () => {
    profiler = createProfiler({ enabled: true, warn: () => undefined });
    // As the pages are loaded: by import, when the first is asked for.
    profiler.watchEngine((await import('ejs')).default);
    const app = express();
    app.use(profiler.watch, profiler.pages);
    app.get('/own', (_req, res) => {
      res.status(500).send('an error page of the application');
    });
    app.get('/logged', (_req) => {
      console.log('password=planted-in-a-log');
      throw new Error('could not log in with planted-in-a-log');
    });
    app.get('/broken', () => {
      throw new Error('broken');
    });
    app.get('/revoked', () => {
      const { proxy, revoke } = Proxy.revocable({}, {});
      revoke();
      throw proxy;
    });
    app.use(profiler.errors);
    ({ server, origin } = await listen(app));
  });
  after(() => close(server, profiler));

  async function ask(path: string): Promise<{ response: Response; text: string; profile: Profile }> {
    const response = await fetch(`${origin}${path}`);
    const text = await response.text();
    return { response, text, profile: await profileOf(response.headers.get('x-debug-token')) };
  }

  async function profileOf(token: string | null): Promise<Profile> {
    return finalProfile(profiler, token ?? '');
  }

  function responseOf({ panels }: Profile): StoredResponse {
    return (panels.request?.data as { response: StoredResponse }).response;
  }

  it('has no copy of its error page, which shows what is stored anyway', async () => {
    const { text, profile } = await ask('/broken');
    expect(text).to.include('<h1 class="msg"').and.include('broken');
    const { bytes, ...stored } = responseOf(profile);
    expect(stored).to.include({ text: null, truncated: false, isErrorPage: true });
    expect(bytes).to.be.greaterThan(2000);
    const panel = await fetch(`${origin}/_profiler/${profile.token}?panel=request`);
    expect(await panel.text()).to.include('own pages are not recorded');
    const markdown = await fetch(`${origin}/_profiler/${profile.token}.md?panel=request`);
    expect(await markdown.text()).to.include('own pages are not recorded');
  });

  it('has the body of an error page of its own', async () => {
    const { profile } = await ask('/own');
    expect(responseOf(profile)).to.include({ text: 'an error page of the application', isErrorPage: false });
  });

  it('has a child with the views of its page, without what they were given', async () => {
    const { response } = await ask('/broken');
    const child = await profileOf(response.headers.get('x-previous-debug-token'));
    expect(child.kind).to.equal('error_page');
    const { views } = (child.panels.views?.data ?? { views: [] }) as { views: { locals: object }[] };
    expect(views.length).to.be.greaterThan(3);
    expect(views.map(({ locals }) => locals)).to.deep.equal(views.map(() => ({})));
  });

  it('shows no secret that only one of its panels revealed', async () => {
    const { text } = await ask('/logged');
    expect(text).to.include('could not log in with').and.not.include('planted-in-a-log');
  });

  it('has its page also if a revoked proxy was thrown', async () => {
    const { text } = await ask('/revoked');
    expect(text).to.include('<h1 class="msg"').and.include('[Proxy, not read]');
  });

  it('without a route has no stack: no code threw it', async () => {
    const { profile } = await ask('/_profiler/nothing');
    const { errors } = profile.panels.exception?.data as {
      errors: { thrown: { chain: { class: string; frames: unknown[] }[] } }[];
    };
    const chain = errors[0]?.thrown.chain.map((thrown) => [thrown.class, thrown.frames]);
    expect(chain).to.deep.equal([
      ['RouteNotFoundError', []],
      ['RouteMissError', []],
    ]);
  });
});
