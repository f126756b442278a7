/** Writes what a host installs with the package, from the lockfile: `dist/sbom.cdx.json`, CycloneDX. Part of `npm pack`. */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './entry.js';

const OPTIONS = ['--package-lock-only', '--omit=peer', '--omit=optional', '--workspaces=false'];

const { name, dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const text = execFileSync('npm', ['sbom', ...OPTIONS, '--sbom-format=cyclonedx', '--sbom-type=library'], {
  cwd: root,
  encoding: 'utf8',
  shell: process.platform === 'win32',
  stdio: ['ignore', 'pipe', 'inherit'],
});
const sbom = JSON.parse(text);
// npm takes the name of the folder.
sbom.metadata.component.name = name;

// Not by --omit=dev, which also omits a dependency of ours that a development tool has too.
const dependsOn = new Map(sbom.dependencies.map((entry) => [entry.ref, entry.dependsOn]));
const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
// The SDK is part of a file of ours.
const installed = new Set(
  [...Object.keys(dependencies), '@modelcontextprotocol/server'].map(
    (direct) => `${direct}@${packages[`node_modules/${direct}`].version}`,
  ),
);
// A set that grows while it is walked.
for (const ref of installed) for (const other of dependsOn.get(ref) ?? []) installed.add(other);
sbom.components = sbom.components.filter((part) => installed.has(part['bom-ref']));
const own = sbom.metadata.component['bom-ref'];
sbom.dependencies = sbom.dependencies
  .filter(({ ref }) => ref === own || installed.has(ref))
  .map((entry) => ({ ...entry, dependsOn: entry.dependsOn.filter((ref) => installed.has(ref)) }));
writeFileSync(join(root, 'dist', 'sbom.cdx.json'), `${JSON.stringify(sbom, null, 2)}\n`);
