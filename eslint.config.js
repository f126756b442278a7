/**
 * A rule is an error, or off with its reason beside it; there are no warnings.
 * Besides the types it keeps what the rooms promise: who reads the environment, who asks where the files lie,
 * who may write to the console.
 */
import tseslint from 'typescript-eslint';

const environmentRead = {
  selector: "MemberExpression[object.name='process'][property.name='env']",
  message: 'Only app/config.ts reads the environment; take the setting from the Config.',
};
const importMetaUrl = {
  selector: "MemberExpression[object.type='MetaProperty'][property.name=/^(url|dirname|filename)$/]",
  message: 'Only app/paths.ts knows where the files lie: `dist` has another layout than the sources.',
};
/**
 * V8 takes a function that is assigned to a property for a method that lives for ever, and allocates it in the old generation. Made for
 * each request it keeps all that it closes over (request, response) alive until the next major collection: on the plain page of the
 * benchmark that was a third of the cost of recording.
 */
const functionToProperty = {
  selector: "AssignmentExpression[left.type='MemberExpression'][right.type=/^(Arrow)?FunctionExpression$/]",
  message:
    'Name the function first (`const send = …; target.send = send`): V8 would allocate it in the old generation.',
};
/** `require()` of the package's door must work, and it can't wait. */
const topLevelAwait = [
  { selector: 'Program > ExpressionStatement > AwaitExpression', message: 'No top-level await under app/.' },
  {
    selector: 'Program > VariableDeclaration > VariableDeclarator > AwaitExpression',
    message: 'No top-level await under app/.',
  },
  {
    selector: 'Program > ExportNamedDeclaration > VariableDeclaration > VariableDeclarator > AwaitExpression',
    message: 'No top-level await under app/.',
  },
];

/** Plain mistakes in files that TypeScript does not check. */
const plainScript = {
  'no-undef': 'error',
  'no-unused-vars': 'error',
  'no-unreachable': 'error',
  'no-fallthrough': 'error',
  'no-dupe-keys': 'error',
  'no-redeclare': 'error',
  'no-self-assign': 'error',
  'valid-typeof': 'error',
  'no-var': 'error',
  'prefer-const': 'error',
  eqeqeq: ['error', 'always'],
};
const nodeGlobals = [
  'process',
  'console',
  'Buffer',
  'URL',
  'setTimeout',
  'clearTimeout',
  'performance',
  'AbortController',
];
const browserGlobals = [
  'window', 'document', 'location', 'history', 'navigator', 'localStorage', 'sessionStorage', 'console', 'fetch', 'URL',
  'URLSearchParams', 'CSS', 'Event', 'CustomEvent', 'KeyboardEvent', 'EventSource', 'HTMLElement', 'HTMLInputElement', 'Element',
  'Node', 'Request', 'XMLHttpRequest', 'MutationObserver', 'IntersectionObserver', 'ResizeObserver', 'PerformanceObserver',
  'customElements', 'performance', 'matchMedia', 'getComputedStyle', 'getSelection', 'requestAnimationFrame', 'setTimeout',
  'clearTimeout', 'setInterval', 'clearInterval', 'queueMicrotask', 'structuredClone', 'AbortController', 'DOMParser', 'Headers',
  'Response', 'Blob', 'FormData',
]; // prettier-ignore
const toolbarGlobals = [
  'STYLE', 'AbortSignal', 'CSSStyleSheet', 'EventTarget', 'addEventListener', 'removeEventListener', 'innerWidth', 'innerHeight',
  'History',
]; // prettier-ignore

function readable(names) {
  return Object.fromEntries(names.map((name) => [name, 'readonly']));
}

export default tseslint.config(
  {
    ignores: [
      'dist/',
      '.dist-*/',
      'var/',
      'node_modules/',
      '.tmp/',
      'bench/peers/',
      'bench/results/',
      'examples/nest/',
    ],
  },
  { linterOptions: { reportUnusedDisableDirectives: 'error', reportUnusedInlineConfigs: 'error' } },
  {
    files: ['**/*.ts'],
    extends: [tseslint.configs.strictTypeChecked, tseslint.configs.stylisticTypeChecked],
    languageOptions: { parserOptions: { project: './tsconfig.json', tsconfigRootDir: import.meta.dirname } },
    rules: {
      // Numbers and booleans print as one expects; what this rule is for are objects and null.
      '@typescript-eslint/restrict-template-expressions': [
        'error',
        { allowNumber: true, allowBoolean: true },
      ],
      // `() => callback()` is how a void function is passed on here.
      '@typescript-eslint/no-confusing-void-expression': [
        'error',
        { ignoreArrowShorthand: true, ignoreVoidOperator: true },
      ],
      // Node's test and event interfaces take async callbacks whose rejection they handle themselves.
      '@typescript-eslint/no-misused-promises': [
        'error',
        { checksVoidReturn: { arguments: false, attributes: false } },
      ],
      // Widening the interface Facts by declaration merging needs `interface`, single ones included.
      '@typescript-eslint/consistent-type-definitions': ['error', 'interface'],
      '@typescript-eslint/consistent-type-imports': ['error', { prefer: 'type-imports' }],
      // A value that is neither null nor undefined is said by a check of its own; `!` hides it.
      '@typescript-eslint/no-non-null-assertion': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': [
        'error',
        { considerDefaultExhaustiveForUnions: true },
      ],
      '@typescript-eslint/no-unused-vars': [
        'error',
        { argsIgnorePattern: '^_', varsIgnorePattern: '^_', caughtErrorsIgnorePattern: '^_' },
      ],
      // Off: there are no enums (`erasableSyntaxOnly`), and interfaces are the contracts here: of classes, only libraries ask for
      // an instance, some of which take plain options. The two rules were a fifth of all rules' time.
      '@typescript-eslint/no-unsafe-enum-assignment': 'off',
      '@typescript-eslint/no-unsafe-class-instance-assignment': 'off',
      // Off: in an observer of foreign code a check for what "can't be" is the point, since the host's types lie.
      '@typescript-eslint/no-unnecessary-condition': 'off',
      // Off: for the same reason; `String(error.name)` guards against an error whose name is none.
      '@typescript-eslint/no-unnecessary-type-conversion': 'off',
      // Off: `||` is meant where an empty string counts as none.
      '@typescript-eslint/prefer-nullish-coalescing': 'off',
      // Off: it asks for a string method where an expression says more; no bug was ever found by it.
      '@typescript-eslint/prefer-regexp-exec': 'off',
      eqeqeq: ['error', 'always'],
      'no-console': 'error',
      'no-restricted-syntax': ['error', environmentRead, importMetaUrl],
    },
  },
  {
    files: ['app/**/*.ts'],
    rules: {
      'no-restricted-syntax': ['error', environmentRead, importMetaUrl, functionToProperty, ...topLevelAwait],
    },
  },
  {
    // Off: objects are made by factories and close over what they need; two classes use `this`, and whoever wraps a
    // method of a foreign object calls it with that object afterwards.
    files: ['app/**/*.ts', 'test/**/*.ts'],
    rules: { '@typescript-eslint/unbound-method': 'off' },
  },
  {
    files: ['app/config.ts'],
    rules: { 'no-restricted-syntax': ['error', importMetaUrl, ...topLevelAwait] },
  },
  {
    // Hands the system's own variables (PATH and the like) on to PostgreSQL's programs; they are no settings.
    files: ['app/database/embedded-postgres/account.ts'],
    rules: { 'no-restricted-syntax': ['error', importMetaUrl, ...topLevelAwait] },
  },
  {
    files: ['app/paths.ts'],
    rules: { 'no-restricted-syntax': ['error', environmentRead, ...topLevelAwait] },
  },
  {
    // A program of its own, which reads three variables: the settings of a service are not its concern.
    files: ['app/cli.ts'],
    rules: { 'no-restricted-syntax': ['error', importMetaUrl, functionToProperty, ...topLevelAwait] },
  },
  {
    // Runs in every process of a NODE_OPTIONS: it reads two variables and finds its bundle without loading either file.
    files: ['app/register.ts'],
    rules: { 'no-restricted-syntax': ['error', ...topLevelAwait] },
  },
  {
    // Tests, benchmarks, examples and the command line tool set environments, find their own files and print.
    files: ['test/**/*.ts', 'bench/**/*.ts', 'examples/**/*.ts', 'knexfile.ts'],
    rules: { 'no-console': 'off', 'no-restricted-syntax': 'off' },
  },
  {
    files: ['test/**/*.ts'],
    rules: {
      // Off: chai's assertions are properties (`expect(x).to.be.true`).
      '@typescript-eslint/no-unused-expressions': 'off',
      // Off: a test says by `!` what the assertion before it has made sure of.
      '@typescript-eslint/no-non-null-assertion': 'off',
      // Off: tests throw what applications throw, which is anything.
      '@typescript-eslint/only-throw-error': 'off',
      '@typescript-eslint/prefer-promise-reject-errors': 'off',
      // Off: fakes of an asynchronous interface are async without waiting.
      '@typescript-eslint/require-await': 'off',
    },
  },
  {
    files: ['bin/**/*.js', 'examples/**/*.js', '*.js', '*.cjs', '.*.cjs', 'test/**/*.cjs', 'bench/**/*.cjs'],
    languageOptions: { globals: readable([...nodeGlobals, 'module', 'exports', 'require', '__dirname']) },
    rules: plainScript,
  },
  {
    files: ['public/**/*.js', 'examples/**/public/**/*.js'],
    languageOptions: { globals: readable(browserGlobals) },
    rules: plainScript,
  },
  {
    // Joined by app/controllers/profiler/toolbar-script.ts, which puts the styles before them.
    files: ['public/toolbar/*.js'],
    languageOptions: { globals: readable(toolbarGlobals) },
  },
);
