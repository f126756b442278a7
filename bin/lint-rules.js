/** What oxlint has no rule for: each of these rules forbids what its selector finds. */
const forbidden = {
  'environment-read': [
    "MemberExpression[object.name='process'][property.name='env']",
    'Only app/config.ts reads the environment; take the setting from the Config.',
  ],
  'import-meta-url': [
    "MemberExpression[object.type='MetaProperty'][property.name=/^(url|dirname|filename)$/]",
    'Only app/paths.ts knows where the files lie: `dist` has another layout than the sources.',
  ],
  // V8 takes a function that is assigned to a property for a method that lives for ever, and allocates it in the old generation. Made for
  // each request it keeps all that it closes over (request, response) alive until the next major collection: on the plain page of the
  // benchmark that was a third of the cost of recording.
  'function-to-property': [
    "AssignmentExpression[left.type='MemberExpression'][right.type=/^(Arrow)?FunctionExpression$/]",
    'Name the function first (`const send = …; target.send = send`): V8 would allocate it in the old generation.',
  ],
  // `require()` of the package's door must work, and it can't wait.
  'top-level-await': [
    'Program > ExpressionStatement > AwaitExpression, ' +
      'Program > VariableDeclaration > VariableDeclarator > AwaitExpression, ' +
      'Program > ExportNamedDeclaration > VariableDeclaration > VariableDeclarator > AwaitExpression',
    'No top-level await under app/.',
  ],
};

function rule([selector, message]) {
  return { create: (context) => ({ [selector]: (node) => context.report({ node, message }) }) };
}

const rules = Object.fromEntries(Object.entries(forbidden).map(([name, entry]) => [name, rule(entry)]));

export default { meta: { name: 'house' }, rules };
