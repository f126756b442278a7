/**
 * Who may import whom: the table of docs/architecture.md, one rule per room. Everything that is not allowed is an error.
 *
 * `app/` has composition files, which join the rooms, and rooms, which know little of each other. Paths are matched as
 * regular expressions; `bin/check.js` makes sure that the run saw more than a handful of modules.
 */

/** The doors and the room that joins the others for them; only these may import from every room. */
const COMPOSITION = '^app/(compose/|service/|(?!(errors|urls|config|paths|node-http)\\.ts$)[^/]+\\.ts$)';
/** Pure functions below the rooms, which everything above the core may use. */
const SHARED = '^app/(paths\\.ts$|render/|view-helpers/)';

/** `from` may import, of this package, only what `allowed` names (and itself). */
function room(name, allowed, options = {}) {
  const from = options.from ?? `^app/${name}/`;
  return {
    name: `${name}-room`,
    comment: `${name} may import ${allowed.length === 0 ? 'nothing of the package' : allowed.join(', ')}.`,
    severity: 'error',
    from: { path: from, ...(options.except === undefined ? {} : { pathNot: options.except }) },
    to: {
      path: '^(app|test|bench|stress|examples|bin|migrations|knexfile)',
      pathNot: [from, NODE_HTTP, ...allowed],
    },
  };
}

/** `from` may not load `packages`; types are allowed where `types` says so. */
function without(name, from, packages, { types = false } = {}) {
  return {
    name,
    severity: 'error',
    from: { path: from },
    to: {
      path: `node_modules/(@types/)?(${packages.join('|')})/`,
      ...(types ? { dependencyTypesNot: ['type-only'] } : {}),
    },
  };
}

const NODE_HTTP = '^app/node-http\\.ts$';
const ERRORS = '^app/errors\\.ts$';
const URLS = '^app/urls\\.ts$';
const PATHS = '^app/paths\\.ts$';
const CONFIG = '^app/config(\\.ts$|/)';
const PROFILER = '^app/profiler/';

/** Dependencies of the service (bin/package.json), and the code that may load them. */
const SERVICE_PACKAGES = 'node_modules/(ipaddr\\.js|knex|morgan|multer|proxy-addr)/';
const SERVICE_CODE = 'service(\\.ts$|/)|migrate|middleware/client-address';

module.exports = {
  forbidden: [
    {
      name: 'no-circular',
      comment: 'A circle of files can be neither read nor loaded in order; types count too.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'no-unresolvable',
      comment: 'An import that leads nowhere.',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
    {
      name: 'no-dev-dependency',
      comment: 'Code that is shipped may load only what is installed with it.',
      severity: 'error',
      from: { path: '^(app|migrations|knexfile)' },
      to: {
        dependencyTypes: ['npm-dev', 'npm-no-pkg'],
        dependencyTypesNot: ['type-only', 'npm-peer'],
        pathNot: SERVICE_PACKAGES,
      },
    },
    {
      name: 'hosts-install-none-of-it',
      comment: 'What bin/package.json lists is installed for the service alone.',
      severity: 'error',
      from: { path: '^app/', pathNot: `^app/(${SERVICE_CODE})` },
      to: { path: SERVICE_PACKAGES, dependencyTypesNot: ['type-only'] },
    },
    room('errors', [], { from: '^app/errors\\.ts$' }),
    room('urls', [], { from: '^app/urls\\.ts$' }),
    room('node-http', [], { from: NODE_HTTP }),
    {
      name: 'node-http-by-one-file',
      comment:
        'An import of a value of node:http makes Node.js load its fetch: take it from app/node-http.ts.',
      severity: 'error',
      from: { path: '^app/', pathNot: NODE_HTTP },
      to: { path: '^(node:)?http$', dependencyTypesNot: ['type-only'] },
    },
    room('config', [], { from: '^app/config(\\.ts$|/)' }),
    room('profiler', [ERRORS]),
    room('observe', [PROFILER]),
    // A panel's `index.ts` is the ordered list.
    room('panels', [PROFILER, SHARED], { except: '^app/panels/index\\.ts$' }),
    {
      name: 'panels-apart',
      comment:
        'A panel calls no other panel, and knows what others keep by its type; only the list knows them all.',
      severity: 'error',
      from: { path: '^app/panels/([^/]+)/' },
      to: {
        path: '^app/panels/',
        pathNot: ['^app/panels/$1/', '^app/panels/shared/'],
        dependencyTypesNot: ['type-only'],
      },
    },
    room('findings', [PROFILER, SHARED, '^app/panels/']),
    room('export', [PROFILER, '^app/panels/']),
    {
      name: 'panels-data-by-type',
      comment: 'Rules, the export and pages know what a panel keeps by its type; they call no panel.',
      severity: 'error',
      from: { path: '^app/(controllers|findings|export)/' },
      to: { path: '^app/panels/(?!shared/)', dependencyTypesNot: ['type-only'] },
    },
    room('storage', [PROFILER, ERRORS, PATHS]),
    room('database', [PROFILER, ERRORS, SHARED, CONFIG, '^migrations/profiler/', '^app/storage/pool\\.ts$']),
    room('middleware', [PROFILER, ERRORS, URLS, PATHS]),
    room('controllers', [PROFILER, ERRORS, URLS, SHARED, '^app/export/', '^app/panels/']),
    // `services.ts` is the type of what the owner's routers get.
    room('routes', ['^app/controllers/', '^app/middleware/', URLS], { except: '^app/routes/services\\.ts$' }),
    room('cli', [ERRORS, URLS, PATHS, '^app/profiler/escape-controls\\.ts$']),
    {
      name: 'only-its-door-imports-cli',
      comment: 'The command line is a program of its own; a host never loads it.',
      severity: 'error',
      from: { path: '^(app|bin|bench|examples|migrations|stress)/', pathNot: '^app/cli(\\.ts$|/)' },
      to: { path: '^app/cli(\\.ts$|/)' },
    },
    room('view-helpers', [PROFILER, URLS]),
    room('render', [PROFILER, ERRORS, '^app/view-helpers/']),
    {
      name: 'nobody-imports-server',
      comment: 'The file that listens and exits is started, never imported.',
      severity: 'error',
      from: { pathNot: '^app/server\\.ts$' },
      to: { path: '^app/server\\.ts$' },
    },
    {
      name: 'composition-at-the-top',
      comment: 'A room gets what it needs handed in; it does not reach up for it.',
      severity: 'error',
      from: { path: '^app/(?!compose/|service/)[^/]+/', pathNot: '^app/routes/services\\.ts$' },
      to: { path: COMPOSITION },
    },
    {
      name: 'the-service-stands-apart',
      comment: 'A reader of the profiler never meets the service: only its own entry points reach it.',
      severity: 'error',
      from: {
        path: '^app/',
        pathNot: '^app/(service(\\.ts$|/)|server\\.ts$|migrate\\.ts$|routes/services\\.ts$)',
      },
      to: { path: '^app/service/' },
    },
    {
      name: 'hosts-use-the-door',
      comment:
        'Examples, benchmarks and migrations may use only what a host may: the doors (and test/support).',
      severity: 'error',
      from: { path: '^(examples|bench|bin|migrations|stress)/' },
      to: { path: '^app/', pathNot: '^app/(index|service)\\.ts$' },
    },
    {
      name: 'nothing-imports-tests',
      severity: 'error',
      from: { path: '^(app|migrations|bin)/' },
      to: { path: '^(test|examples|bench|stress)/' },
    },
    without('commander-is-the-command-lines', '^app/(?!cli/)', ['commander']),
    without('core-is-free', '^app/profiler/', ['express', 'knex', 'ejs', 'pg'], { types: true }),
    without('observers-import-types', '^app/observe/', ['express', 'knex', 'ejs', 'pg'], { types: true }),
    without('panels-ask-nobody', '^app/panels/', ['express', 'knex', 'ejs', 'pg']),
    without('no-database-behind-pages', '^app/(controllers|middleware)/', ['knex', 'pg', 'pg-copy-streams']),
    without('knex-is-the-owners', '^app/storage/', ['knex'], { types: true }),
    without('express-is-the-hosts', '^app/(controllers|middleware|storage|database|findings)', ['express'], {
      types: true,
    }),
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: {
      path: '^(dist|var|\\.dist-|bench/(peers|hosts)|examples/(apollo|express|express-typescript|feathers|loopback|nest))',
    },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'require', 'node', 'default', 'types'],
      mainFields: ['module', 'main', 'types'],
    },
  },
};
