/** `init`: what it writes for agents, that it leaves everything else as it is, and that it can be undone. */
import { expect } from 'chai';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { init } from '../../app/cli/init.ts';
import { freshFolder } from '../support/fresh-folder.ts';

describe('init of the command line', () => {
  let folder: string;

  beforeEach(() => {
    folder = freshFolder();
  });

  async function run(options: { undo?: boolean; answer?: boolean | null } = {}) {
    const ended = { printed: '', noted: '' };
    const { undo = false, answer } = options;
    await init({
      folder,
      undo,
      print: (text) => void (ended.printed += text),
      note: (sentence) => void (ended.noted += `${sentence}\n`),
      confirm: answer === undefined ? null : () => Promise.resolve(answer),
    });
    return ended;
  }
  const text = (name: string): Promise<string> => readFile(join(folder, name), 'utf8');

  it('shows what it writes, and writes after a yes only', async () => {
    const { printed } = await run({ answer: false });
    expect(printed).to.include('Create .mcp.json').and.include('"hindsight"').and.include('Create AGENTS.md');
    expect(await readdir(folder)).to.deep.equal([]);
    const error: unknown = await run({ answer: null }).catch((thrown: unknown) => thrown);
    expect((error as Error).message).to.include('--yes');
    await run({ answer: true });
    expect(await readdir(folder)).to.have.members(['.mcp.json', 'AGENTS.md']);
    expect(JSON.parse(await text('.mcp.json'))).to.deep.equal({
      mcpServers: { hindsight: { command: 'npx', args: ['express-hindsight', 'mcp'] } },
    });
    expect(await text('AGENTS.md')).to.include('latest_failure');
    expect((await run()).printed).to.equal('Nothing to change.\n');
    await run({ undo: true });
    expect(await readdir(folder)).to.deep.equal([]);
  });

  it('adds to files that are there, for agents that are used here, and takes out exactly that', async () => {
    const files = {
      '.mcp.json': `${JSON.stringify({ mcpServers: { other: { command: 'x' } } }, null, 4)}\n`,
      '.vscode/mcp.json': `${JSON.stringify({ inputs: [] }, null, '\t')}\n`,
      '.codex/config.toml': 'model = "a"\n',
      'AGENTS.md': '# Rules\n\nBe kind.\n',
    };
    for (const name of ['.vscode', '.codex', '.cursor']) await mkdir(join(folder, name));
    for (const [name, content] of Object.entries(files)) await writeFile(join(folder, name), content);
    await run();
    expect(JSON.parse(await text('.mcp.json'))).to.have.nested.property('mcpServers.other');
    expect(JSON.parse(await text('.vscode/mcp.json'))).to.have.nested.property(
      'servers.hindsight.type',
      'stdio',
    );
    expect(JSON.parse(await text('.cursor/mcp.json'))).to.have.nested.property('mcpServers.hindsight');
    expect(await text('.codex/config.toml')).to.match(/^model = "a"\n\n\[mcp_servers\.hindsight\]\n/);
    expect(await text('AGENTS.md')).to.match(/^# Rules\n\nBe kind\.\n\n<!-- express-hindsight -->\n/);
    await run({ undo: true });
    for (const [name, content] of Object.entries(files)) expect(await text(name), name).to.equal(content);
    expect(await readdir(join(folder, '.cursor'))).to.deep.equal([]);
  });

  it('leaves what it does not understand or did not write', async () => {
    const files = {
      '.mcp.json': '{ // mine\n}',
      '.cursor/mcp.json': '{"mcpServers":{"hindsight":{"url":"http://127.0.0.1:4000/_profiler/mcp"}}}',
    };
    await mkdir(join(folder, '.cursor'));
    for (const [name, content] of Object.entries(files)) await writeFile(join(folder, name), content);
    const { noted } = await run();
    expect(noted).to.include('.mcp.json stays as it is').and.include('.cursor/mcp.json stays as it is');
    await run({ undo: true });
    for (const [name, content] of Object.entries(files)) expect(await text(name), name).to.equal(content);
  });
});
