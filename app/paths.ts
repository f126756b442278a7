/**
 * Where the package's own files lie, from sources as from `dist`. The only user of `import.meta.url` (by lint):
 * `dist/app` has no `views` beside it, so everything is found from the package's root.
 */
import type * as Sdk from '@modelcontextprotocol/server';
import type * as Stdio from '@modelcontextprotocol/server/stdio';
import { existsSync, readFileSync } from 'node:fs';
import module from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { createError } from './errors.ts';

/** This file, or what it was bundled into: bundlers that make CommonJS leave no `import.meta.url`. */
function codeUrl(): string {
  const url = import.meta.url as string | undefined;
  if (url !== undefined && url !== '') return url;
  return pathToFileURL(typeof __filename === 'string' ? __filename : (process.argv[1] ?? '.')).href;
}

function isPackage(folder: string): boolean {
  try {
    const text = readFileSync(join(folder, 'package.json'), 'utf8');
    return (JSON.parse(text) as { name?: unknown }).name === 'express-hindsight';
  } catch {
    return false;
  }
}

/** Where a bundle with our code finds the installed package, with its templates and styles. */
function installedRoot(file: string): string {
  try {
    return dirname(module.createRequire(file).resolve('express-hindsight/package.json'));
  } catch {
    throw createError('BAD_CONFIG', [
      'express-hindsight',
      `is part of the bundle ${file}, and its templates and styles are not installed where that runs. Mark it external ` +
        '(esbuild: --external:express-hindsight; webpack: externals; Vite: ssr.external; Rollup: external), or install it there.',
    ]);
  }
}

function findRoot(): string {
  const file = fileURLToPath(codeUrl());
  for (let folder = dirname(file); ; folder = dirname(folder)) {
    if (isPackage(folder)) return folder;
    if (folder === dirname(folder)) return installedRoot(file);
  }
}

let root: string | undefined;

/** The folder that holds this package's package.json. */
export function packageRoot(): string {
  return (root ??= findRoot());
}

/** Whether this runs from `dist`, not from the sources. */
export function isBuilt(): boolean {
  return !codeUrl().endsWith('.ts');
}

/** `name` of a module under `app/` without ending: .ts from source, .js in dist. */
export function moduleUrl(name: string): URL {
  const folder = join(packageRoot(), isBuilt() ? join('dist', 'app') : 'app');
  return pathToFileURL(join(folder, `${name}${isBuilt() ? '.js' : '.ts'}`));
}

/** What `--import` takes to record a process. */
export function registerUrl(): string {
  return isBuilt()
    ? pathToFileURL(join(packageRoot(), 'dist', 'cjs', 'register.js')).href
    : moduleUrl('register').href;
}

/**
 * A package in CommonJS as `require` gives it. An `import` of one first looks for the names that it exports, which takes a fifth of
 * the time in which a service with Express starts. `createRequire` is a property, because webpack replaces the name by nothing.
 */
export const requirePackage: NodeJS.Require = module.createRequire(codeUrl());

export type McpSdk = typeof Sdk & typeof Stdio;

/** The SDK of coding agents' protocol: a file of this package, which is made at its build. */
export function mcpSdkFiles(): string[] {
  const bundled = join(packageRoot(), 'dist', 'mcp-sdk.cjs');
  if (existsSync(bundled)) return [bundled];
  const name = '@modelcontextprotocol/server';
  return [name, `${name}/stdio`].map((one) => requirePackage.resolve(one));
}

export function requireMcpSdk(): McpSdk {
  return Object.assign({}, ...mcpSdkFiles().map((file) => requirePackage(file) as McpSdk)) as McpSdk;
}

/** `version` of this package. */
export function packageVersion(): string {
  const manifest = JSON.parse(readFileSync(join(packageRoot(), 'package.json'), 'utf8')) as {
    version: string;
  };
  return manifest.version;
}
