import { expect } from 'chai';
import { load } from 'cheerio';
import { createEditorHelpers } from '../../app/view-helpers/editor.ts';

const url = 'vscode://file/%f:%l:%c';
const root = '/app/my shop';
const at = { line: 3, column: null };
const { editorUrl, place } = createEditorHelpers({ url, root });

describe('the address of the editor', () => {
  it('is that of files below the root only, encoded', () => {
    expect(editorUrl({ file: 'src/a b.ts', ...at })).to.equal('vscode://file/app/my%20shop/src/a%20b.ts:3:1');
    for (const file of [
      '/etc/passwd',
      '../../etc/passwd',
      'src/../../x.ts',
      'node:fs',
      'webpack://x/a.ts',
      '\\\\host\\share',
      '',
      null,
    ])
      expect(editorUrl({ file, ...at }), String(file)).to.equal(null);
    expect(createEditorHelpers().editorUrl({ file: 'src/a.ts', ...at })).to.equal(null);
  });

  it('can not be changed by the name of a file', () => {
    expect(editorUrl({ file: 'a%l?x=1&line=9#%f"><b>\u202e.ts', ...at })).to.equal(
      'vscode://file/app/my%20shop/a%25l%3Fx%3D1%26line%3D9%23%25f%22%3E%3Cb%3E%E2%80%AE.ts:3:1',
    );
    expect(editorUrl({ file: 'half \ud800.ts', ...at })).to.match(/half%20%EF%BF%BD\.ts:3:1$/);
  });

  it('gives the whole path where the pattern has no slash before it', () => {
    const custom = createEditorHelpers({ url: 'myeditor://open?file=%f&line=%l', root });
    expect(custom.editorUrl({ file: 'a.ts', line: null, column: 2 })).to.equal(
      'myeditor://open?file=/app/my%20shop/a.ts&line=1',
    );
    const windows = createEditorHelpers({ url, root: 'C:\\shop\\' });
    expect(windows.editorUrl({ file: 'src/a.ts', ...at })).to.equal('vscode://file/C:/shop/src/a.ts:3:1');
  });

  it('leads to the folder that a mapping names, the longest that fits first', () => {
    const mapped = createEditorHelpers({
      url,
      root: '/app',
      paths: { '/app': '/home/me/shop', '/app/packages/': '/home/me/packages/', '/shared': 'D:\\shared' },
    });
    expect(mapped.editorUrl({ file: 'src/a.ts', ...at })).to.equal('vscode://file/home/me/shop/src/a.ts:3:1');
    expect(mapped.editorUrl({ file: 'packages/a.ts', ...at })).to.equal(
      'vscode://file/home/me/packages/a.ts:3:1',
    );
    expect(mapped.editorUrl({ file: '/shared/a.ts', ...at })).to.equal('vscode://file/D:/shared/a.ts:3:1');
    expect(mapped.editorUrl({ file: '/application/a.ts', ...at })).to.equal(null);
  });
});

describe('a place', () => {
  it('leads to its source in the profile that is shown, each time anew', () => {
    let token: string | null = 'abc123';
    const shown = createEditorHelpers(undefined, () => token);
    const linkOf = (): string | undefined => load(String(shown.place('src/a.ts:41')))('a').attr('href');
    const first = linkOf();
    expect(first).to.match(/^\/_profiler\/abc123\/source\/[0-9a-f]{12}$/);
    token = 'def456';
    expect(linkOf()).to.equal(first?.replace('abc123', 'def456'));
    token = null;
    expect(linkOf()).to.equal(undefined);
  });

  it('is text where it names no file', () => {
    for (const text of [
      'localhost:5432',
      'content-type',
      'orders.show',
      'shop.example.com:443',
      'a'.repeat(300),
    ])
      expect(load(String(place(text)))('a').length, text).to.equal(0);
    expect(String(place(null))).to.equal('');
  });
});
