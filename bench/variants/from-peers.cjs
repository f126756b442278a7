/** Loads a package of the benchmark's own folder of peers. */
const { createRequire } = require('node:module');
const { join } = require('node:path');

exports.fromPeers = createRequire(join(__dirname, '..', 'peers', 'package.json'));
