// Tells where code of the workspace changes how the files of tests are loaded: by another loader, or another module in the
// place of a loaded one, tests would assert with something else than what their files name (FLW-04). Which file did it is
// told: tests may, installed packages may, and the server knows which files are tests.
import Module from 'node:module';
import { isAbsolute, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

const MOST_FRAMES = 50;
const LOADERS = [
  [Module, ['_load', '_resolveFilename', '_findPath', '_resolveLookupPaths']],
  [Module.prototype, ['require', 'load', '_compile']],
  [Module._extensions, Object.keys(Module._extensions)],
];

const here = process.cwd();
const { captureStackTrace } = Error;
const { defineProperty } = Object;
const { set } = Reflect;
const { startsWith, includes } = String.prototype;
const { apply } = Reflect;
const starts = (text, start) => apply(startsWith, text, [start]);
const holds = (text, part) => apply(includes, text, [part]);

/** The file of the workspace that calls a function, undefined where it is Node's own code or an installed package. */
function callerOf(called) {
  const { prepareStackTrace, stackTraceLimit } = Error;
  const holder = {};
  Error.prepareStackTrace = (_error, sites) => sites;
  Error.stackTraceLimit = MOST_FRAMES;
  captureStackTrace(holder, called);
  const sites = holder.stack;
  Error.prepareStackTrace = prepareStackTrace;
  Error.stackTraceLimit = stackTraceLimit;
  for (let at = 0; at < sites.length; at += 1) {
    const name = sites[at].getFileName();
    if (typeof name === 'string' && name !== '') return ownFile(name);
  }
  return undefined;
}

function ownFile(name) {
  const file = starts(name, 'file:') ? fileURLToPath(name) : name;
  const path = relative(here, file);
  const isBelow = isAbsolute(file) && !isAbsolute(path) && path !== '' && !starts(path, '..');
  return isBelow && !holds(`${sep}${path}`, `${sep}node_modules${sep}`) ? file : undefined;
}

export function guardLoading(tell) {
  const tellOf = (name, file, of) => file !== undefined && tell({ event: 'from', id: name, file, of });
  for (const [owner, names] of LOADERS) {
    for (const name of names) {
      let value = owner[name];
      const replace = (next) => {
        if (next !== value) tellOf(`the loader's ${name}`, callerOf(replace), '');
        value = next;
      };
      defineProperty(owner, name, { get: () => value, set: replace, enumerable: true, configurable: false });
    }
  }
  for (const name of ['register', 'registerHooks']) {
    const real = Module[name];
    if (typeof real !== 'function') continue;
    const register = function (...given) {
      tellOf(`the loader's ${name}`, callerOf(register), '');
      return apply(real, this, given);
    };
    defineProperty(Module, name, { value: register, enumerable: true, writable: false, configurable: false });
  }
  Module._cache = new Proxy(Module._cache, {
    set: function put(cache, key, value) {
      if (cache[key] !== value) tellOf(`require.cache of ${relative(here, String(key))}`, callerOf(put), String(key));
      return set(cache, key, value);
    },
    defineProperty: function define(cache, key, described) {
      tellOf(`require.cache of ${relative(here, String(key))}`, callerOf(define), String(key));
      return Reflect.defineProperty(cache, key, described);
    },
  });
}
