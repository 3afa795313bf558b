// A reporter of `node --test` that writes each test's result inside the sandbox, as a line of JSON as soon as it is known.
// So a run that is stopped has told what finished, and what did not.
import { createRequire } from 'node:module';
import { relative, resolve } from 'node:path';
import { inspect } from 'node:util';

const { tell } = createRequire(import.meta.url)('./report_channel.cjs');

const MOST_CHARS = 20_000;

/** Names of what is running in each file, outermost first: as tests begin, and as they are told of, in their order. */
const running = new Map();
const told = new Map();
const parents = new Set();
const open = new Map();
const printed = new Map();

const below = (file) => (file ? relative(process.cwd(), file) : '');
const isFile = (data) => data.nesting === 0 && data.file && resolve(data.name) === resolve(data.file);
const keyOf = (data) => JSON.stringify([data.file, data.nesting, data.name, data.line, data.column]);
const pathOf = (names, data) => [...(names.get(data.file) ?? []).slice(0, data.nesting), data.name];

function idOf(names, data) {
  return isFile(data) ? below(data.file) : [below(data.file), ...pathOf(names, data)].filter(Boolean).join(' > ');
}

function begun(data) {
  running.set(data.file, pathOf(running, data));
  open.set(keyOf(data), idOf(running, data));
  tell({ event: 'start', id: idOf(running, data), file: below(data.file), line: data.line ?? null });
}

function listed(data) {
  const path = pathOf(told, data);
  told.set(data.file, path);
  parents.add(JSON.stringify([data.file, path.slice(0, -1)]));
}

/** A suite, a test of tests or a file counts only where it broke by itself. */
function isCounted(data, error) {
  const holds = parents.has(JSON.stringify([data.file, pathOf(told, data)]));
  const isOne = data.details?.type !== 'suite' && !holds && !isFile(data);
  return isOne || (error !== undefined && (isFile(data) || error.failureType !== 'subtestsFailed'));
}

/** Node takes a file for failed whose process was interrupted, as at the time limit: it did not finish. */
const isInterrupted = (data) => isFile(data) && data.details?.error?.signal === 'SIGINT';

function ended(data, error) {
  if (isInterrupted(data)) return;
  tell({ event: 'drop', id: open.get(keyOf(data)) ?? '' });
  if (data.skip === 'test name does not match pattern') return;
  if (!isCounted(data, error)) return;
  const whole = isFile(data) || data.details?.type === 'suite';
  const set = (option) => option !== undefined && option !== false;
  const failed = error !== undefined && !set(data.todo);
  const passed = set(data.skip) || (error !== undefined && !failed) ? 'skipped' : 'passed';
  const cause = error?.cause ?? error;
  const isAssertion = cause?.code === 'ERR_ASSERTION' || cause?.name === 'AssertionError';
  tell({
    event: 'end',
    id: idOf(told, data),
    ending: !failed ? passed : whole ? 'error' : 'failed',
    seconds: data.details?.duration_ms === undefined ? null : data.details.duration_ms / 1000,
    file: below(data.file) || null,
    line: isFile(data) ? null : (data.line ?? null),
    kind: !failed ? null : isAssertion ? 'assertion' : 'error',
    text: !failed ? '' : (isFile(data) ? (printed.get(data.file) ?? error.message) : textOf(cause)).slice(0, MOST_CHARS),
  });
}

const textOf = (cause) =>
  typeof cause === 'string' ? cause : typeof cause?.stack === 'string' ? cause.stack : inspect(cause);

export default async function* reporter(source) {
  for await (const { type, data } of source) {
    if (type === 'test:stderr') printed.set(data.file, `${printed.get(data.file) ?? ''}${data.message}`);
    else if (type === 'test:enqueue' && isFile(data)) tell({ event: 'start', id: below(data.file), file: below(data.file) });
    else if (type === 'test:complete' && isFile(data) && !isInterrupted(data)) tell({ event: 'drop', id: below(data.file) });
    else if (type === 'test:dequeue' && !isFile(data)) begun(data);
    else if (type === 'test:start' && !isFile(data)) listed(data);
    else if (type === 'test:pass') ended(data, undefined);
    else if (type === 'test:fail') ended(data, data.details?.error ?? {});
  }
}
