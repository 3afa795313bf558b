// Loaded first in the process of `node --test`, where no code of the workspace runs. Each file of tests gets a process of
// its own from it; what that tells comes by a pipe of its own, signed with a key of its own, and is told on (FLW-04).
// Node's own way, frames on the standard output of that process, is one that tests and code could write to as well.
const { ChildProcess } = require('node:child_process');
const { createHmac, randomBytes } = require('node:crypto');
const { join, resolve } = require('node:path');

const { tell } = require('./report_channel.cjs');

const FILE_FD = 3;
const OURS = [`--import=${join(__dirname, 'inside_node_file.mjs')}`];
const REPORTER = [`--test-reporter=${join(__dirname, 'inside_node_tests.mjs')}`, '--test-reporter-destination=stdout'];

/** What each file's process told of it: whether a test failed, and whether all came to their end. */
const files = new Map();

exports.ofFile = (file) => files.get(resolve(file));

class FileReport {
  constructor() {
    this.key = randomBytes(32).toString('hex');
    this.number = 0;
    this.rest = '';
    this.hasFailed = false;
    this.hasEnded = false;
    this.isForged = false;
  }

  follow(pipe) {
    this.closed = new Promise((done) => pipe.on('close', done));
    pipe.on('error', () => {});
    pipe.setEncoding('utf8');
    pipe.on('data', (text) => {
      const lines = `${this.rest}${text}`.split('\n');
      this.rest = lines.pop();
      for (const line of lines) this.take(line);
    });
    pipe.end(this.key);
  }

  take(line) {
    const signature = line.slice(0, 64);
    const text = line.slice(65);
    const expected = createHmac('sha256', this.key).update(`${this.number} ${text}`).digest('hex');
    this.number += 1;
    if (signature !== expected) this.isForged = true;
    if (this.isForged) return;
    const told = JSON.parse(text);
    if (told.event === 'closed') this.hasEnded = true;
    else tell(told);
    if (told.event === 'doubt') this.isForged = true;
    if (told.event === 'end' && (told.ending === 'failed' || told.ending === 'error')) this.hasFailed = true;
  }
}

const { spawn } = ChildProcess.prototype;

ChildProcess.prototype.spawn = function spawnFile(options) {
  const isFile = options.envPairs?.some((pair) => pair.startsWith('NODE_TEST_CONTEXT='));
  if (!isFile) return spawn.call(this, options);
  const report = new FileReport();
  const [program, ...args] = options.args.filter((arg) => !arg.startsWith(`--require=${__filename}`));
  files.set(resolve(args.findLast((arg) => !arg.startsWith('-'))), report);
  const stdio = [...options.stdio];
  stdio[FILE_FD] = 'pipe';
  const result = spawn.call(this, {
    ...options,
    args: [program, ...OURS, ...REPORTER, ...args],
    envPairs: options.envPairs.filter((pair) => !pair.startsWith('NODE_TEST_CONTEXT=')),
    stdio,
  });
  if (this.stdio?.[FILE_FD]) report.follow(this.stdio[FILE_FD]);
  return result;
};
