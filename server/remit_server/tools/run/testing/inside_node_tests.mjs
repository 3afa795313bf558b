// A reporter of one file of node's tests, in their process: it tells each result as a line of JSON, numbered and signed,
// as soon as it is known. The key comes by the pipe that the lines go by, before any code of the workspace runs, and
// nobody can ask for it or call the reporter again. What it needs later is taken now, or cannot be replaced.
import { createHmac, Hmac } from 'node:crypto';
import { readFileSync, writeSync } from 'node:fs';
import { relative } from 'node:path';
import { inspect } from 'node:util';
import { isMainThread } from 'node:worker_threads';

import { guardLoading } from './inside_node_guards.mjs';

const FILE_FD = 3;
const MOST_CHARS = 20_000;

// What runs in a thread that a test has started is no test of the file's.
const isOfFile = isMainThread;
const key = isOfFile ? readFileSync(FILE_FD, 'utf8') : '';
const { update, digest } = Hmac.prototype;
const { apply } = Reflect;
const { stringify } = JSON;
const { from } = Buffer;
const { assign, create } = Object;
let number = 0;

// One part of it is a plain object. What all objects have stays open: where that is frozen, no code may assign a
// `toString` to a prototype of its own.
const probe = createHmac('sha256', '');
for (const name of Object.getOwnPropertySymbols(probe)) {
  const part = probe[name];
  const above = part !== null && typeof part === 'object' ? Object.getPrototypeOf(part) : null;
  if (above !== null && above !== Object.prototype) Object.freeze(above);
}
Object.freeze(Hmac.prototype);

function tell(value) {
  // Of an object without a prototype nobody else says how it is written.
  const line = stringify(assign(create(null), value));
  const hmac = apply(update, createHmac('sha256', key), [from(`${number} ${line}`, 'utf8')]);
  number += 1;
  const text = from(`${apply(digest, hmac, ['hex'])} ${line}\n`, 'utf8');
  for (let at = 0; at < text.length; ) at += writeSync(FILE_FD, text, at);
}

if (isOfFile) guardLoading(tell);

/** Names of what is running, outermost first: as tests begin, and as they are told of, in their order. */
const running = new Map();
const told = new Map();
const parents = new Set();
const open = new Map();

const here = process.cwd();
const below = (file) => (file ? relative(here, file) : '');
const keyOf = (data) => stringify([data.file, data.nesting, data.name, data.line, data.column]);
const pathOf = (names, data) => [...(names.get(data.file) ?? []).slice(0, data.nesting), data.name];
const idOf = (names, data) => [below(data.file), ...pathOf(names, data)].filter(Boolean).join(' > ');

function begun(data) {
  running.set(data.file, pathOf(running, data));
  open.set(keyOf(data), idOf(running, data));
  tell({ event: 'start', id: idOf(running, data), file: below(data.file), line: data.line ?? null });
}

function listed(data) {
  const path = pathOf(told, data);
  told.set(data.file, path);
  parents.add(stringify([data.file, path.slice(0, -1)]));
}

/** A suite or a test of tests counts only where it broke by itself. */
function isCounted(data, error) {
  const holds = parents.has(stringify([data.file, pathOf(told, data)]));
  const isOne = data.details?.type !== 'suite' && !holds;
  return isOne || (error !== undefined && error.failureType !== 'subtestsFailed');
}

function ended(data, error) {
  tell({ event: 'drop', id: open.get(keyOf(data)) ?? '' });
  if (data.skip === 'test name does not match pattern') return;
  if (!isCounted(data, error)) return;
  const set = (option) => option !== undefined && option !== false;
  const failed = error !== undefined && !set(data.todo);
  const passed = set(data.skip) || (error !== undefined && !failed) ? 'skipped' : 'passed';
  const cause = error?.cause ?? error;
  const isAssertion = cause?.code === 'ERR_ASSERTION' || cause?.name === 'AssertionError';
  tell({
    event: 'end',
    id: idOf(told, data),
    ending: !failed ? passed : data.details?.type === 'suite' ? 'error' : 'failed',
    seconds: data.details?.duration_ms === undefined ? null : data.details.duration_ms / 1000,
    file: below(data.file) || null,
    line: data.line ?? null,
    kind: !failed ? null : isAssertion ? 'assertion' : 'error',
    text: !failed ? '' : textOf(cause).slice(0, MOST_CHARS),
  });
}

const textOf = (cause) =>
  typeof cause === 'string' ? cause : typeof cause?.stack === 'string' ? cause.stack : inspect(cause);

let hasBegun = false;

export default async function* reporter(source) {
  if (!isOfFile) {
    for await (const _ of source);
    return;
  }
  if (hasBegun) {
    tell({ event: 'doubt', id: '', text: 'something other than the runner called its reporter' });
    return;
  }
  hasBegun = true;
  process.emit('remit-reporter');
  for await (const { type, data } of source) {
    if (type === 'test:dequeue') begun(data);
    else if (type === 'test:start') listed(data);
    else if (type === 'test:pass') ended(data, undefined);
    else if (type === 'test:fail') ended(data, data.details?.error ?? {});
  }
  tell({ event: 'closed', id: '' });
}
