/** Creates the built-in panels for one application, with the parts of the process that they read. */
import { readFile } from 'node:fs/promises';
import { release } from 'node:os';
import { join } from 'node:path';
import {
  ConfigError,
  derivedSettings,
  profilerSettings,
  serviceSettings,
  type Setting,
} from '../config/settings.ts';
import { createErrorDescriber } from '../observe/errors.ts';
import type { FoundLibrary } from '../observe/libraries.ts';
import { createPlaceExcerpts } from '../observe/stacks/place-excerpts.ts';
import type { SourceFiles } from '../observe/stacks/source-files.ts';
import type { SourceMaps } from '../observe/stacks/source-maps.ts';
import type { ValueFrames } from '../observe/values/value-frames.ts';
import { createPanels } from '../panels/index.ts';
import { packageRoot, packageVersion } from '../paths.ts';
import type { Context } from '../profiler/record/context.ts';
import type { Panel, PanelMenu } from '../profiler/panel.ts';
import { rowsSummary } from '../render/rows-summary.ts';

export interface HostFacts {
  root: string;
  settings: Readonly<Record<string, unknown>>;
  files: SourceFiles;
  maps: SourceMaps;
  values: ValueFrames;
  process: string;
  databases: () => readonly FoundLibrary[];
  /** Panels that the application adds, behind ours. */
  own?: readonly Panel[] | undefined;
}

/** The profiler's code, if the service is the application: everything except the owner's `app/routes`. */
const FOREIGN_FOLDERS = ['app/', 'dist/app/'].flatMap((folder) => [
  ...[
    'compose',
    'controllers',
    'database',
    'export',
    'findings',
    'middleware',
    'observe',
    'panels',
    'profiler',
    'render',
    'service',
    'storage',
    'view-helpers',
  ].map((room) => `${folder}${room}/`),
  ...['config', 'errors', 'index', 'migrate', 'paths', 'server', 'service', 'urls'].map(
    (file) => `${folder}${file}.`,
  ),
  // Files that the build bundles (bin/bundle.js).
  `${folder}hindsight-`,
]);

/** Settings whose values may be shown: all of ours but the secrets, and what every process has. */
const SHOWN_SETTINGS = [
  ...[serviceSettings, derivedSettings, profilerSettings].flatMap((table) =>
    Object.values(table).flatMap(({ name, isSecret }: Setting) => (isSecret === true ? [] : [name])),
  ),
  'NODE_ENV',
  'TZ',
  'LANG',
];

interface Manifest {
  version?: string;
  dependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
}

async function readManifest(folder: string): Promise<Manifest> {
  try {
    return JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as Manifest;
  } catch {
    return {};
  }
}

/** One file after the other, while the application starts: they may be a hundred. */
async function installedPackages(root: string): Promise<Record<string, string>> {
  const { dependencies = {}, peerDependencies = {} } = await readManifest(root);
  const versions: Record<string, string> = {};
  for (const name of Object.keys({ ...dependencies, ...peerDependencies })) {
    const { version } = await readManifest(join(root, 'node_modules', name));
    if (version !== undefined) versions[name] = version;
  }
  return versions;
}

function plainJson(data: unknown): unknown {
  if (data === null || data === undefined) return null;
  return JSON.parse(JSON.stringify(data)) as unknown;
}

/** Without a summary of its own, a panel's menu shows its first figure. */
function menuOf(panel: Panel): PanelMenu {
  return {
    ...panel.menu,
    summary(data, profile) {
      if (panel.menu?.summary !== undefined) return panel.menu.summary(data, profile);
      return panel.rows === undefined ? null : rowsSummary(panel.rows(data, { profile, amendments: {} }));
    },
  };
}

/** A panel of an application may return anything: it becomes plain JSON before it is masked, and what JSON can't hold fails that panel alone. */
function withPlainData(panel: Panel): Panel {
  const properties: PropertyDescriptorMap = { menu: { value: menuOf(panel) } };
  if (panel.collect !== undefined)
    properties.collect = { value: (context: Context) => plainJson(panel.collect?.(context)) };
  // Its methods may be those of a class.
  return Object.create(panel, properties) as Panel;
}

/** Throws a ConfigError if a panel of the application could not be shown under its name. */
function checkNames(own: readonly Panel[], builtIn: readonly Panel[]): void {
  const taken = new Set(builtIn.map(({ name }) => name));
  for (const { name } of own) {
    if (!/^[a-z_]+$/.test(name))
      throw new ConfigError(
        'panels:',
        `"${name}" is not a valid panel name; use lower-case letters and "_".`,
      );
    if (taken.has(name)) throw new ConfigError('panels:', `there is a panel "${name}" already.`);
    taken.add(name);
  }
}

export function createHostPanels({
  root,
  settings,
  files,
  maps,
  values,
  process: name,
  databases,
  own = [],
}: HostFacts): Panel[] {
  const ownVersion = { 'express-hindsight': packageVersion() };
  let packages: Record<string, string> = ownVersion;
  void installedPackages(root).then((found) => {
    packages = { ...found, ...ownVersion };
  });
  const panels = createPanels({
    describe: createErrorDescriber({
      root,
      files,
      maps,
      values,
      ...(root === packageRoot() ? { foreignFolders: FOREIGN_FOLDERS } : {}),
    }),
    valuesOf: values.recordOf,
    database: {
      excerptAt: createPlaceExcerpts({ root, files, maps }),
      sourceAbove: createPlaceExcerpts({ root, files, maps, before: 40, after: 0 }),
      watched: databases,
    },
    configuration: {
      settings,
      shown: SHOWN_SETTINGS,
      get packages() {
        return packages;
      },
      process: {
        process: name,
        pid: process.pid,
        node: process.versions.node,
        platform: `${process.platform} ${process.arch}, ${release()}`,
        startedAt: new Date(Date.now() - process.uptime() * 1000).toISOString(),
      },
    },
  });
  checkNames(own, panels);
  return [...panels, ...own.map(withPlainData)];
}
