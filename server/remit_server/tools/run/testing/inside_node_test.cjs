// Loaded before each file of node's tests: what they assert with stays what it is, whatever the source puts in its place.
const assert = require('node:assert');

for (const part of [assert, assert.strict, assert.AssertionError, assert.AssertionError.prototype]) Object.freeze(part);
