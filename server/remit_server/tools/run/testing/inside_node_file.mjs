// Loaded first in the process of each file of node's tests. No code of the workspace runs before the reporter has begun,
// and what the tests assert with stays what it is, whatever the source puts in its place (FLW-04).
// Threads of these tests are loaded so too, and have nothing to tell; processes that they start are not: what they would
// inherit is what plain `node` would have them inherit.
import assert from 'node:assert';
import { dirname } from 'node:path';
import test from 'node:test';
import { fileURLToPath } from 'node:url';
import { isMainThread } from 'node:worker_threads';

const ours = dirname(fileURLToPath(import.meta.url));
const isOurs = (arg, at, all) =>
  /^--(?:import|test-reporter)=/.test(arg)
    ? arg.includes(`=${ours}/`)
    : arg === '--test-reporter-destination=stdout' && all[at - 1]?.includes(`=${ours}/`);
const { execArgv } = process;
execArgv.splice(0, execArgv.length, ...execArgv.filter((arg, at, all) => !isOurs(arg, at, all)));

if (isMainThread) {
  const { AssertionError } = assert;
  for (const part of [assert, assert.strict, AssertionError, AssertionError.prototype, test, test.it, test.describe]) {
    Object.freeze(part);
  }
  const begun = new Promise((done) => {
    process.once('remit-reporter', done);
  });
  test.before(() => {});
  await begun;
}
