import { expect } from 'chai';
import { checkEditor } from '../../app/config/editor.ts';

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
