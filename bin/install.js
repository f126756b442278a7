/**
 * `node bin/install.js FOLDER...`: installs folders that have a package.json of their own. A copy of
 * this package there is installed again, because a tarball of the same version may have changed.
 */
import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './entry.js';

const OPTIONS = ['--no-package-lock', '--no-audit', '--no-fund'];

for (const name of process.argv.slice(2)) {
  const folder = join(root, name);
  const npm = (...options) =>
    execFileSync('npm', options, { cwd: folder, stdio: 'inherit', shell: process.platform === 'win32' });
  rmSync(join(folder, 'node_modules', 'express-hindsight'), { recursive: true, force: true });
  npm('install', ...OPTIONS);
  npm('run', '--if-present', 'generate');
}
