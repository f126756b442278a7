/**
 * Makes a script of a joined module, because V8 lets what it compiled be kept for scripts on every Node.js (decision 17).
 *
 * The script is the module's text, a line further down and else where it was, so that its source map holds: imports and exports are blank, and
 * `import(…)` and `import.meta` become `Import(…)` and `Import.meta`, an argument. What is imported comes in by arguments,
 * what is exported goes out as a list. The module that stays imports and exports what it did, and runs the script.
 */
import { Script } from 'node:vm';
import ts from 'typescript';

/** In place of `import`, and as long. */
const IMPORT = 'Import';

/** Name of the variable to which `node` gives another value; undefined for other nodes. */
function assignedBy(node) {
  if (ts.isPrefixUnaryExpression(node) || ts.isPostfixUnaryExpression(node)) return node.operand.text;
  if (!ts.isBinaryExpression(node)) return undefined;
  const { FirstAssignment, LastAssignment } = ts.SyntaxKind;
  const { kind } = node.operatorToken;
  return kind >= FirstAssignment && kind <= LastAssignment ? node.left.text : undefined;
}

function namesOf({ name, namedBindings } = {}) {
  const bindings = namedBindings === undefined ? [] : (namedBindings.elements ?? [namedBindings]);
  return [...(name === undefined ? [] : [name]), ...bindings.map((binding) => binding.name)].map(
    ({ text }) => text,
  );
}

/** Places of `import(` and `import.meta`, and names of what is assigned to. */
function readExpressions(file) {
  const keywords = [];
  const assigned = new Set();
  (function walk(node) {
    const calls = ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword;
    if (calls || ts.isMetaProperty(node)) keywords.push(node.getStart(file));
    assigned.add(assignedBy(node));
    ts.forEachChild(node, walk);
  })(file);
  return { keywords, assigned };
}

function readStatements(file) {
  const imports = file.statements.filter((statement) => ts.isImportDeclaration(statement));
  const exports = file.statements.filter(
    (statement) => ts.isExportDeclaration(statement) && statement.moduleSpecifier === undefined,
  );
  const pairs = exports
    .flatMap(({ exportClause }) => [...exportClause.elements])
    .map(({ name, propertyName }) => ({ name: name.text, local: (propertyName ?? name).text }));
  return { imports, exports, names: imports.flatMap((statement) => namesOf(statement.importClause)), pairs };
}

function blank(text, { pos, end }) {
  return text.slice(0, pos) + text.slice(pos, end).replace(/[^\n]/g, ' ') + text.slice(end);
}

/** The module that stays. */
function moduleOf(name, text, file, { imports, names, pairs }) {
  const locals = pairs.map((_pair, index) => `_${index}`);
  const outs = pairs.map((pair, index) => `${locals[index]} as ${pair.name}`);
  return [
    "import { run } from './hindsight-run.js';",
    ...imports.map((statement) => text.slice(statement.getStart(file), statement.end)),
    `const ${IMPORT} = Object.assign((name) => import(name), { meta: import.meta });`,
    `const [${locals.join(', ')}] = run('${name}')(${[IMPORT, ...names].join(', ')});`,
    `export { ${outs.join(', ')} };`,
    '',
  ].join('\n');
}

function isScript(text) {
  try {
    return Boolean(new Script(text));
  } catch {
    return false;
  }
}

/**
 * `{ script, module }`, both texts, the script one line longer than `text`; the module runs it by `name`. null for what can't be
 * one: what awaits at its top level, re-exports, or has exports that change.
 */
export function asScript(name, text) {
  const file = ts.createSourceFile('module.js', text, ts.ScriptTarget.Latest);
  const statements = readStatements(file);
  const { exports, imports, names, pairs } = statements;
  const { keywords, assigned } = readExpressions(file);
  if (pairs.some(({ local }) => assigned.has(local))) return null;
  let body = [...imports, ...exports].reduce(blank, text);
  for (const at of keywords) body = body.slice(0, at) + IMPORT + body.slice(at + IMPORT.length);
  const results = pairs.map(({ local }) => local).join(',');
  const script = `(function(${[IMPORT, ...names].join(',')}){"use strict";\n${body}\n;return[${results}]})\n`;
  return isScript(script) ? { script, module: moduleOf(name, text, file, statements) } : null;
}
