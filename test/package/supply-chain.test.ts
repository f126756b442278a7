/** What comes with the package: lockfiles that say exactly what, no script at install but those listed, licences, a list of the parts. */
import { expect } from 'chai';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { withBuild } from '../support/build.ts';

interface Locked {
  version?: string;
  resolved?: string;
  integrity?: string;
  license?: string;
  link?: boolean;
  /** Part of the package around it, whose hash covers it. */
  inBundle?: boolean;
  dev?: boolean;
  devOptional?: boolean;
  optional?: boolean;
  peer?: boolean;
  hasInstallScript?: boolean;
}

function read(path: string): unknown {
  return JSON.parse(readFileSync(path, 'utf8'));
}

/** Of npm's packages, without our own folders. */
function packagesOf(lockfile: string): [path: string, locked: Locked][] {
  const { packages } = read(lockfile) as { packages: Record<string, Locked> };
  return Object.entries(packages).filter(
    ([path, { link, inBundle }]) => path.includes('node_modules/') && link !== true && inBundle !== true,
  );
}

/** `node_modules/a/node_modules/@b/c` -> `@b/c`. */
function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
}

/** Old packages have a list, which npm leaves out of the lockfile. */
function licenceOf(path: string, { license }: Locked): string | undefined {
  if (license !== undefined) return license;
  const { licenses } = read(`${path}/package.json`) as { licenses?: { type: string }[] };
  return licenses?.[0]?.type;
}

const LICENCES = ['MIT', 'ISC', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause'];
const { allowScripts, publishConfig } = read('package.json') as {
  allowScripts: Record<string, boolean>;
  publishConfig: Record<string, unknown>;
};

describe('the supply chain', () => {
  withBuild();

  it('is exact in package-lock.json: each package with its hash, and from whatever registry is configured', () => {
    const packages = packagesOf('package-lock.json');
    expect(packages.length).to.be.greaterThan(5);
    const inexact = packages.filter(([, { integrity }]) => !/^sha512-[\w+/=]{88}$/.test(integrity ?? ''));
    expect(inexact.map(([path]) => path)).to.deep.equal([]);
    const named = packages.filter(([, { resolved }]) => resolved !== undefined);
    expect(named.map(([path, { resolved }]) => `${path}: ${resolved}`)).to.deep.equal([]);
  });

  for (const folder of ['test/libraries/current', 'test/libraries/previous', 'bench/peers'])
    it(`names exact versions in ${folder}, which has no lock file`, () => {
      const { dependencies } = read(`${folder}/package.json`) as { dependencies: Record<string, string> };
      for (const [name, version] of Object.entries(dependencies))
        expect(version, name).to.match(/^\d+\.\d+\.\d+$/);
    });

  it('runs no script at install but those listed, which are switched off', () => {
    const scripts = packagesOf('package-lock.json').filter(([, locked]) => locked.hasInstallScript === true);
    expect(new Set(scripts.map(([path]) => nameOf(path)))).to.deep.equal(new Set(Object.keys(allowScripts)));
    expect(Object.values(allowScripts)).to.not.include(true);
  });

  it('has licences that anybody may use, in what runs', () => {
    const running = packagesOf('package-lock.json').filter(
      ([, { dev, devOptional, optional }]) => dev !== true && devOptional !== true && optional !== true,
    );
    expect(running.length).to.be.greaterThan(50);
    const others = running.filter(([path, locked]) => !LICENCES.includes(licenceOf(path, locked) ?? ''));
    expect(others.map(([path]) => path)).to.deep.equal([]);
  });

  it('is listed in the package', () => {
    execFileSync(process.execPath, ['bin/sbom.js'], { stdio: 'pipe' });
    const sbom = read('dist/sbom.cdx.json') as {
      metadata: { component: { name: string } };
      components: { name: string; version: string; hashes: unknown[] }[];
    };
    expect(sbom.metadata.component.name).to.equal('express-hindsight');
    const { dependencies } = read('package.json') as { dependencies: object };
    const bundled = ['@modelcontextprotocol/core', '@modelcontextprotocol/server', 'zod'];
    expect(sbom.components.map(({ name }) => name)).to.have.members([
      ...Object.keys(dependencies),
      ...bundled,
    ]);
    const licences = readFileSync('dist/mcp-sdk.LICENSES', 'utf8');
    for (const name of bundled) expect(licences).to.match(new RegExp(`^${name} \\d`, 'm'));
    for (const { hashes } of sbom.components) expect(hashes).to.have.lengthOf(1);
    expect(publishConfig).to.deep.equal({ access: 'public' });
  });
});
