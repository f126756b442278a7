import { expect } from 'chai';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { editorOf } from '../../app/config.ts';
import { freshFolder } from '../support/fresh-folder.ts';

describe('the editor that places open', () => {
  let root: string;
  beforeEach(() => {
    root = freshFolder();
  });

  for (const [env, scheme, by] of [
    [{ VISUAL: 'code --wait', EDITOR: 'vim' }, 'vscode', 'VISUAL'],
    [{ EDITOR: '/usr/local/bin/cursor' }, 'cursor', 'EDITOR'],
    [{ EDITOR: 'webstorm.cmd' }, 'webstorm', 'EDITOR'],
    [{ EDITOR: 'vim', TERM_PROGRAM: 'vscode' }, 'vscode', 'TERM_PROGRAM'],
    [{ TERM_PROGRAM: 'vscode', CURSOR_TRACE_ID: '1f' }, 'cursor', 'CURSOR_TRACE_ID'],
    [{ TERMINAL_EMULATOR: 'JetBrains-JediTerm' }, 'webstorm', 'TERMINAL_EMULATOR'],
  ] as const)
    it(`is found by ${by}: ${JSON.stringify(env)}`, () => {
      const found = editorOf(null, root, env);
      expect(found?.by).to.equal(by);
      expect(found?.url).to.match(new RegExp(`^${scheme}://`));
    });

  it('is found by the folder that an editor leaves, and by nothing else', () => {
    expect(editorOf(null, root, { EDITOR: 'constructor', TERM_PROGRAM: 'xterm' })).to.equal(null);
    mkdirSync(join(root, '.idea'));
    expect(editorOf(null, root, {})?.url).to.match(/^webstorm:/);
    mkdirSync(join(root, '.vscode'));
    expect(editorOf(null, root, {})).to.include({ by: '.vscode', url: 'vscode://file/%f:%l:%c' });
  });

  it('is what the setting says, or none; in production none is looked for', () => {
    const env = { EDITOR: 'code', NODE_ENV: 'production' };
    expect(editorOf(null, root, env)).to.equal(null);
    expect(editorOf('zed://file/%f:%l:%c', root, env)?.by).to.equal('PROFILER_EDITOR');
    expect(editorOf('none', root, { EDITOR: 'code' })).to.equal(null);
  });
});
