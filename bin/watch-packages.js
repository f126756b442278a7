/** Watches, while the service is built, which files of packages it loads by `require`, for kept-packages.js. */
import { isBuiltin, Module } from 'node:module';
import { dirname, relative, sep } from 'node:path';
import { Script } from 'node:vm';

/** Files are named from `root` on. From here on modules in CommonJS are compiled as scripts whose code can be kept. */
export function watchPackages(root) {
  const scripts = new Map();
  const asked = new Map();
  const nameOf = (filename) => relative(root, filename).split(sep).join('/');
  const usual = { compile: Module.prototype._compile, require: Module.prototype.require };

  Module.prototype._compile = function (content, filename, ...rest) {
    if (!filename.endsWith('.js')) return usual.compile.call(this, content, filename, ...rest);
    const script = new Script(Module.wrap(content), { filename });
    scripts.set(filename, script);
    const require = Object.assign((id) => this.require(id), {
      resolve: (id) => Module._resolveFilename(id, this),
      cache: Module._cache,
      extensions: Module._extensions,
    });
    const { exports } = this;
    return script.runInThisContext().call(exports, exports, require, this, filename, dirname(filename));
  };
  Module.prototype.require = function (id) {
    if (!isBuiltin(id)) {
      const known = asked.get(this.filename) ?? {};
      asked.set(this.filename, known);
      known[id] = Module._resolveFilename(id, this);
    }
    return usual.require.call(this, id);
  };

  function knownOf(filename) {
    const known = Object.entries(asked.get(filename) ?? {});
    return Object.fromEntries(known.map(([id, file]) => [id, nameOf(file)]));
  }

  return {
    /** What packPackages() takes, with what V8 holds now. */
    kept() {
      const codes = [...scripts].map(([filename, script]) => ({ filename, code: script.createCachedData() }));
      const modules = {};
      let at = 0;
      for (const { filename, code } of codes) {
        modules[nameOf(filename)] = { from: at, to: at + code.length, known: knownOf(filename) };
        at += code.length;
      }
      const first = [...asked.keys()].filter((filename) => !scripts.has(filename));
      return {
        index: {
          first: [...new Set(first.flatMap((filename) => Object.values(knownOf(filename))))],
          modules,
        },
        code: Buffer.concat(codes.map(({ code }) => code)),
      };
    },
  };
}
