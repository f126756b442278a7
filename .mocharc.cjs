/**
 * Tests run from TypeScript. `spec` is given only where no file or folder is named on the command line:
 * mocha adds the two, so that `npm test -- test/x.test.ts` would run everything.
 */
const named = process.argv.slice(2).some((argument) => /^(\.\/)?test\/(.*\.test\.ts|[^.]*)$/.test(argument));

module.exports = {
  extension: ['ts'],
  spec: named ? [] : ['test/**/*.test.ts'],
  recursive: true,
  'node-option': ['import=tsx', 'enable-source-maps'],
  timeout: 10_000,
};
