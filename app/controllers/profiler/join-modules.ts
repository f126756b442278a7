/**
 * Joins modules for the browser into one script, because separate files would be a dozen requests per page. The modules must use one-line
 * named imports, names that are unique among them, and no multi-line strings.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const IMPORT = /^import \{[^}]*\} from '\.\/([a-z-]+\.js)';\n/gm;
const EXPORT = /^export (?=(?:async )?function|const|let)/gm;

/** A declaration that is not indented. */
const DECLARED = /^(?:(?:async )?function\*?|class|const|let) (?:(\w+)|\{([^}]*)\})/gm;

/** Throws if two files declare the same name, which the joined script could not. */
function declare(owners: Map<string, string>, file: string, text: string): void {
  for (const [, single, several = ''] of text.matchAll(DECLARED)) {
    const names =
      single === undefined ? several.split(',').map((part) => part.replace(/^.*:/, '').trim()) : [single];
    for (const name of names) {
      const owner = owners.get(name);
      if (owner !== undefined) throw new Error(`"${name}" is declared by ${owner} and by ${file}.`);
      owners.set(name, file);
    }
  }
}

/** Removes comment lines, indentation and empty lines: a third of the text. */
function withoutComments(text: string): string {
  return text
    .replace(/^\s*\/\*[\s\S]*?\*\/\s*$/gm, '')
    .replace(/^\s*\/\/.*$/gm, '')
    .replace(/^\s+/gm, '');
}

/** `entry` and all that it imports from `folder`, behind `head`, as a script that leaves no global name. Throws if that can't be. */
export function joinModules(folder: string, entry: string, head = ''): string {
  const done = new Map<string, string>();
  const owners = new Map<string, string>();
  declare(owners, 'the head', head);
  function add(file: string, above: readonly string[]): void {
    if (done.has(file)) return;
    if (above.includes(file)) throw new Error(`The module "${file}" imports itself.`);
    const text = readFileSync(join(folder, file), 'utf8');
    for (const [, name = ''] of text.matchAll(IMPORT)) add(name, [...above, file]);
    const script = text.replace(IMPORT, '').replace(EXPORT, '');
    declare(owners, file, script);
    done.set(file, withoutComments(script));
  }
  add(entry, []);
  return `(() => {\n'use strict';\n{\n${head}${[...done.values()].join('')}}\n})();\n`;
}
