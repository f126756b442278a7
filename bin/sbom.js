/** Writes what a host installs with the package, from the lockfile: `dist/sbom.cdx.json`, CycloneDX. Part of `npm pack`. */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './entry.js';

const OPTIONS = ['--package-lock-only', '--omit=dev', '--omit=peer', '--omit=optional', '--workspaces=false'];

const { name } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const text = execFileSync('npm', ['sbom', ...OPTIONS, '--sbom-format=cyclonedx', '--sbom-type=library'], {
  cwd: root,
  encoding: 'utf8',
  shell: process.platform === 'win32',
  stdio: ['ignore', 'pipe', 'inherit'],
});
const sbom = JSON.parse(text);
// npm takes the name of the folder.
sbom.metadata.component.name = name;
writeFileSync(join(root, 'dist', 'sbom.cdx.json'), `${JSON.stringify(sbom, null, 2)}\n`);
