/** Scripts that a browser ran, on the disk: by the path of their address or their ETag, through maps, and never outside of the project. */
import { expect } from 'chai';
import { mkdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createFrontEndFiles } from '../../app/observe/stacks/front-end-files.ts';
import { createSourceFiles } from '../../app/observe/stacks/source-files.ts';
import { createSourceMaps } from '../../app/observe/stacks/source-maps.ts';
import type { LocateFrontEnd } from '../../app/profiler/read/browser-report.ts';
import { freshFolder } from '../support/fresh-folder.ts';

describe('files of a front end', () => {
  let folder: string;
  let root: string;
  let locate: LocateFrontEnd;
  beforeEach(() => {
    folder = freshFolder();
    root = join(folder, 'app');
    write('app.js', 'server();');
    const files = createSourceFiles({ roots: [root] });
    locate = createFrontEndFiles({ root, files, maps: createSourceMaps({ files }) });
  });

  function write(path: string, text: string): string {
    const file = join(root, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
    return file;
  }
  function etagOf(file: string): string {
    const { size, mtime } = statSync(file);
    return `W/"${size.toString(16)}-${mtime.getTime().toString(16)}"`;
  }
  const at = (path: string, etag: string | null = null, line = 1): string | undefined =>
    locate({ path, etag }, line, 1)?.place;

  it('are found by their path, with the lines before', () => {
    write('public/js/cart.js', 'a();\nb();\nc();');
    expect(locate({ path: '/js/cart.js', etag: null }, 2, 1)).to.deep.equal({
      place: 'public/js/cart.js:2',
      code: { from: 1, lines: ['a();', 'b();'] },
    });
    expect(locate({ path: '/js/cart.js', etag: null }, 9, 1)?.code).to.equal(null);
  });

  it('are found by the ETag of their response below any path, and never by a name alone', () => {
    const file = write('public/cart.js', 'a();');
    expect(at('/static/v2/cart.js')).to.equal(undefined);
    expect(at('/static/v2/cart.js', etagOf(file))).to.equal('public/cart.js:1');
    expect(at('/static/v2/cart.js', 'W/"1-1"')).to.equal(undefined);
    // A file of the server's with that name is none of the front end's.
    expect(at('/app.js')).to.equal(undefined);
  });

  it('that are missing cost no look into each folder', () => {
    for (let index = 0; index < 50; index++)
      mkdirSync(join(root, 'src', `part${index}`), { recursive: true });
    write('src/part7/js/cart.js', 'a();');
    const files = createSourceFiles({ roots: [root] });
    let looks = 0;
    const text = (file: string): string | null => {
      looks++;
      return files.text(file);
    };
    const counted = createFrontEndFiles({
      root,
      files: { ...files, text },
      maps: createSourceMaps({ files }),
    });
    for (let index = 0; index < 100; index++)
      expect(counted({ path: `/js${index}/gone.js`, etag: 'W/"1-1"' }, 1, 1)).to.equal(null);
    expect(looks).to.equal(0);
    expect(counted({ path: '/js/cart.js', etag: null }, 1, 1)?.place).to.equal('src/part7/js/cart.js:1');
  });

  it('are not guessed where several differ', () => {
    write('public/cart.js', 'a();');
    write('dist/cart.js', 'a();');
    expect(at('/cart.js')).to.match(/^(?:dist|public)\/cart\.js:1$/);
    write('other/cart.js', 'b();');
    const files = createSourceFiles({ roots: [root] });
    const fresh = createFrontEndFiles({ root, files, maps: createSourceMaps({ files }) });
    expect(fresh({ path: '/cart.js', etag: null }, 1, 1)).to.equal(null);
  });

  it('are mapped to their sources', () => {
    write('src/cart.ts', 'const a = 1;\nfail(a);');
    write('public/cart.js', 'const a=1;fail(a);\n//# sourceMappingURL=cart.js.map');
    // Column 10 of line 1 -> line 2 of src/cart.ts.
    write(
      'public/cart.js.map',
      JSON.stringify({ version: 3, sources: ['../src/cart.ts'], mappings: 'AAAA,UACA' }),
    );
    expect(locate({ path: '/cart.js', etag: null }, 1, 11)).to.deep.equal({
      place: 'src/cart.ts:2',
      code: { from: 1, lines: ['const a = 1;', 'fail(a);'] },
    });
  });

  it('are never outside of the project, hidden, or no code', () => {
    writeFileSync(join(folder, 'secret.js'), 'secret();');
    mkdirSync(join(root, 'public'), { recursive: true });
    symlinkSync(join(folder, 'secret.js'), join(root, 'public', 'link.js'));
    write('public/.env.js', 'secret();');
    write('.git/hook.js', 'secret();');
    write('public/data.json', '{}');
    for (const path of [
      '/../secret.js',
      '/public/../../secret.js',
      '/%2e%2e/secret.js',
      '/..%2fsecret.js',
      '/x/%2E%2E%2F%2E%2E%2Fsecret.js',
      '/link.js',
      '/.env.js',
      '/.git/hook.js',
      '/data.json',
      '/public%00.js',
      '/..\\secret.js',
      `/${folder}/secret.js`,
      '/%',
      '/',
      '',
    ])
      // prettier-ignore
      expect(at(path), path).to.equal(undefined);
  });
});
