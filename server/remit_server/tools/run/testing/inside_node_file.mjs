// Loaded first in the process of each file of node's tests. No code of the workspace runs before the reporter has begun,
// and what the tests assert with stays what it is, whatever the source puts in its place (FLW-04).
import assert from 'node:assert';
import test from 'node:test';

const { AssertionError } = assert;
for (const part of [assert, assert.strict, AssertionError, AssertionError.prototype, test, test.it, test.describe]) {
  Object.freeze(part);
}

const begun = new Promise((done) => {
  process.once('remit-reporter', done);
});
test.before(() => {});
await begun;
