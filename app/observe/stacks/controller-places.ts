/**
 * Where a method of a controller is. NestJS registers functions of its own, so no stack leads there: the class is found among the exports
 * of the loaded CommonJS modules, and the method in the text of its module.
 */
import { readFileSync } from 'node:fs';
import Module from 'node:module';
import type { Site } from './caller.ts';
import { packageOf } from './own-code.ts';

interface Found {
  type: { name: string; prototype: object };
  file: string;
}

const { cache } = Module.createRequire(process.execPath);
const MODIFIERS = /^\s*(?:(?:public|protected|private|static|override|async)\s+)*/;

/** Files of the application: looked up again when more modules are loaded, because most belong to packages. */
let known: { modules: number; files: readonly string[] } = { modules: 0, files: [] };

/** Classes that modules of the application export under their own names. SWC and esbuild write getters for exports, so others are not read. */
function exportsOf(name: string): Found[] {
  const loaded = Object.keys(cache);
  if (loaded.length !== known.modules)
    known = { modules: loaded.length, files: loaded.filter((file) => packageOf(file) === null) };
  return known.files.flatMap((file): Found[] => {
    const exports: unknown = cache[file]?.exports;
    if (typeof exports !== 'object' || exports === null) return [];
    return [name, 'default']
      .filter((key) => Object.hasOwn(exports, key))
      .map((key) => ({ type: Reflect.get(exports, key) as Found['type'], file }))
      .filter(({ type }) => (type as { name?: unknown } | null | undefined)?.name === name);
  });
}

function siteIn({ type, file }: Found, method: string): Site | null {
  const lines = readFileSync(file, 'utf8').split('\n');
  const heading = new RegExp(String.raw`\bclass ${type.name}\b`);
  const begin = lines.findIndex((line) => heading.test(line));
  const at = lines.findIndex((line, number) => {
    const text = line.replace(MODIFIERS, '');
    return number >= begin && text.startsWith(method) && /^\s*[(<]/.test(text.slice(method.length));
  });
  if (begin === -1 || at === -1) return null;
  return {
    getFileName: () => file,
    getLineNumber: () => at + 1,
    getColumnNumber: () => (lines[at] ?? '').indexOf(method) + 1,
    isText: true,
  };
}

/** `handler`: `OrdersController.find`. null if it is unknown, or several classes have the name. */
export function controllerSite(handler: string): Site | null {
  const [className = '', method = ''] = handler.split('.');
  const found = exportsOf(className);
  const type = found[0]?.type;
  if (type === undefined || found.some((one) => one.type !== type)) return null;
  let owner: object | null = type.prototype;
  while (owner !== null && !Object.hasOwn(owner, method))
    owner = Object.getPrototypeOf(owner) as object | null;
  const declaring = owner === type.prototype ? found : exportsOf(owner?.constructor.name ?? '');
  // An index that exports it again does not contain it.
  return declaring.map((one) => siteIn(one, method)).find((site) => site !== null) ?? null;
}
