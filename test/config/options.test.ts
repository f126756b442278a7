import { expect } from 'chai';
import { createProfiler } from '../../app/compose/create-profiler.ts';
import type { ProfilerOptions } from '../../app/compose/profiler-options.ts';
import { ConfigError, readConfig } from '../../app/config.ts';
import { readOptions } from '../../app/config/settings.ts';

describe('the settings of a host', () => {
  it('are read as those of the environment are, or given as values', () => {
    expect(readOptions({})).to.deep.equal(readConfig({}).profiler);
    const paths = { '/app': '/home/me/shop' };
    expect(readOptions({ editor: 'zed', editorPaths: paths })).to.include({
      editor: 'zed://file/%f:%l:%c',
      fullPerSecond: 100,
    });
    expect(readOptions({ editor: 'x-ed://%f', editorPaths: paths }).editorPaths).to.deep.equal(paths);
    expect(
      readOptions({ editor: 'none', fullPerSecond: 'unlimited', sampleRate: 0.5, toolbar: false }),
    ).to.include({
      editor: 'none',
      fullPerSecond: 'unlimited',
      sampleRate: 0.5,
      toolbar: false,
    });
  });

  const wrong: [ProfilerOptions, string][] = [
    [{ editor: 'javascript:alert(%f)' }, 'editor is an address'],
    [{ editor: 'notepad' }, 'editor is "notepad"; set vscode'],
    [{ editorPaths: { app: '/x' } }, 'editorPaths holds "app=/x"'],
    [{ replay: 'some' as 'all' }, 'replay is "some"; set it to off, safe or all.'],
    [{ fullPerSecond: -1 }, 'fullPerSecond is "-1"; set a whole number from 0 to 1000000, or "unlimited".'],
    [{ explainMs: 0.5 }, 'explainMs is "0.5"; set a whole number'],
    [{ sampleRate: 50 }, 'sampleRate is "50"; set a number from 0 to 1'],
    [{ toolbarOrigins: ['*'] }, 'toolbarOrigins holds "*"; list origins'],
  ];
  for (const [options, message] of wrong)
    it(`are refused with a sentence where they are wrong: ${message}`, () => {
      expect(() => createProfiler(options)).to.throw(ConfigError, `createProfiler: ${message}`);
    });
});
