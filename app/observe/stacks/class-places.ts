/**
 * Where a method of a class is. NestJS registers functions of its own and calls the methods itself, so no stack leads there: the class
 * is found in the text of the application's loaded modules, which are read once.
 */
import { readFileSync } from 'node:fs';
import Module from 'node:module';
import { dirname, join } from 'node:path';
import { addTo } from '../../profiler/group-by.ts';
import { ownModules } from '../es-modules.ts';
import type { FindRegistration, Site } from './caller.ts';
import { packageOf } from './own-code.ts';

interface Found {
  file: string;
  /** Index of its line, and of the next class; undefined: it is the last one. */
  at: number;
  end: number | undefined;
  base: string | undefined;
}

const { cache } = Module.createRequire(process.execPath);
const CODE = /\.[cm]?[jt]sx?$/;
const IMPORTED = /\bfrom\s{0,20}['"](\.{1,2}\/[^'"\n]{1,300})['"]/g;
const LONGEST_LINE = 400;
/** Classes from one to its base. */
const DEEPEST = 4;
const CLASS = /^(?!\s*(?:\/\/|\/?\*)).*?\bclass\s+([A-Za-z_$][\w$]*)(?:.*\bextends\s+([\w$]+))?/;
const MODIFIERS = /^\s*(?:@[\w.]+\([^)]*\)\s*)*(?:(?:public|protected|private|static|override|async)\s+)*/;

const read = new Set<string>();
const classes = new Map<string, Found[]>();

function linesOf(file: string): readonly string[] {
  return readFileSync(file, 'utf8').split('\n');
}

function readClasses(file: string): void {
  const lines = linesOf(file);
  // An ES module is loaded with those that it imports, and only our hook would list them.
  for (const [, path = ''] of lines.join('\n').matchAll(IMPORTED))
    ownModules().add(join(dirname(file), path));
  const found = lines.flatMap((line, at) => {
    const [, name, base] = line.length > LONGEST_LINE ? [] : (CLASS.exec(line) ?? []);
    return name === undefined ? [] : [{ name, at, base }];
  });
  for (const [index, { name, at, base }] of found.entries())
    addTo(classes, name, { file, at, end: found[index + 1]?.at, base });
}

function readOnce(file: string): void {
  if (read.has(file)) return;
  read.add(file);
  if (packageOf(file) !== null || !CODE.test(file)) return;
  try {
    readClasses(file);
  } catch {
    // It is gone, or is no file.
  }
}

/** Reads what was loaded since. */
function refresh(): void {
  for (const file of Object.keys(cache)) readOnce(file);
  // Also those that are added meanwhile.
  for (const file of ownModules()) readOnce(file);
}

function siteIn({ file, at, end }: Found, method: string): Site | null {
  const lines = linesOf(file).slice(at, end);
  const index = lines.findIndex((line) => {
    const text = line.replace(MODIFIERS, '');
    return text.startsWith(method) && /^\s*[(<]/.test(text.slice(method.length));
  });
  if (index === -1) return null;
  return {
    getFileName: () => file,
    getLineNumber: () => at + index + 1,
    getColumnNumber: () => (lines[index] ?? '').indexOf(method) + 1,
    isText: true,
  };
}

function sitesOf(name: string, method: string, depth = 0): Site[] {
  if (depth === DEEPEST) return [];
  return (classes.get(name) ?? []).flatMap((found) => {
    const site = siteIn(found, method);
    if (site !== null) return [site];
    return found.base === undefined ? [] : sitesOf(found.base, method, depth + 1);
  });
}

/** `OrdersController.find` -> its line; null if it is unknown, or several classes have the name. */
export type FindMethod = (name: string) => string | null;

export function createMethodPlaces(findRegistration: FindRegistration): FindMethod {
  const places = new Map<string, string | null>();
  const find: FindMethod = (name) => {
    const [className = '', method = ''] = name.split('.');
    refresh();
    const [site, ...others] = sitesOf(className, method);
    return site === undefined || others.length > 0 ? null : findRegistration([site]);
  };
  return (name) => {
    let place = places.get(name);
    if (place === undefined) {
      place = find(name);
      places.set(name, place);
    }
    return place;
  };
}
