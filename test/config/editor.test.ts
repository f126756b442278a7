import { expect } from 'chai';
import { load } from 'cheerio';
import express from 'express';
import request from 'supertest';
import { checkEditor } from '../../app/config/editor.ts';
import { createProfiler } from '../../app/compose/create-profiler.ts';
import { packageRoot } from '../../app/paths.ts';

describe('the editor of a host', () => {
  it('is a name or a pattern, with folders that lie elsewhere', () => {
    expect(checkEditor({ url: 'zed' })).to.deep.equal({ url: 'zed://file/%f:%l:%c', paths: {} });
    expect(checkEditor({ url: 'none' })).to.equal(null);
    const paths = { '/app': '/home/me/shop' };
    expect(checkEditor({ url: 'x-ed://%f', paths })).to.deep.equal({ url: 'x-ed://%f', paths });
  });

  it('that is wrong is refused with a sentence that names it', () => {
    expect(() => checkEditor({ url: 'javascript:alert(%f)' })).to.throw(
      TypeError,
      'editor.url is an address',
    );
    expect(() => checkEditor({ url: 'zed', paths: { app: '/x' } })).to.throw(TypeError, 'editor.paths holds');
  });
});

describe('a host with an editor', () => {
  it('has links to it on its error page', async () => {
    const profiler = createProfiler({
      root: packageRoot(),
      editor: { url: 'zed', paths: { [packageRoot()]: '/home/me/shop' } },
      warn: () => undefined,
    });
    const app = express();
    app.use(profiler.watch);
    app.get('/', () => {
      throw new Error('here');
    });
    app.use(profiler.errors);
    try {
      const { text } = await request(app).get('/').expect(500);
      expect(load(text)('.where a').first().attr('href')).to.match(
        /^zed:\/\/file\/home\/me\/shop\/test\/config\/editor\.test\.ts:\d+:\d+$/,
      );
    } finally {
      await profiler.close();
    }
  });

  it('is told at once of one that is wrong', () => {
    expect(() => createProfiler({ editor: { url: 'notepad' } })).to.throw(
      TypeError,
      'editor.url is "notepad"; set vscode',
    );
  });
});
