// A reporter of `node --test` that writes inside the sandbox what became of each file of tests. What became of each test
// in it, its process tells (`inside_node_tests.mjs`), also of a run that is stopped: what finished, and what did not.
import { createRequire } from 'node:module';
import { relative, resolve } from 'node:path';

const require = createRequire(import.meta.url);
const { tell, tellLines } = require('./report_channel.cjs');
const { ofFile } = require('./inside_node_spawn.cjs');

const MOST_CHARS = 20_000;
const printed = new Map();

const below = (file) => (file ? relative(process.cwd(), file) : '');
const isFile = (data) => data.nesting === 0 && data.file && resolve(data.name) === resolve(data.file);

/** Node takes a file for failed whose process was interrupted, as at the time limit: it did not finish. */
const isInterrupted = (data) => data.details?.error?.signal === 'SIGINT';

/** A file counts only where it broke by itself, and its tests only where all of them came to their end. */
async function ended(data, error) {
  const report = ofFile(data.file);
  await report?.closed;
  tell({ event: 'drop', id: below(data.file) });
  if (report?.isForged) doubt(`something other than the runner told how the tests of \`${below(data.file)}\` ended`);
  if (error !== undefined && !report?.hasFailed) {
    const text = (printed.get(data.file) ?? error.message ?? '').slice(0, MOST_CHARS);
    const seconds = data.details?.duration_ms === undefined ? null : data.details.duration_ms / 1000;
    const file = below(data.file);
    tell({ event: 'end', id: file, ending: 'error', kind: 'error', seconds, file, line: null, text });
  } else if (!report?.hasEnded) doubt(`the tests of \`${below(data.file)}\` did not come to their end`);
}

const linesOf = ({ path, lines }) => ({ path, lines: lines.map(({ line, count }) => [line, count]) });
const doubt = (text) => tell({ event: 'doubt', id: '', text });

export default async function* reporter(source) {
  for await (const { type, data } of source) {
    if (type === 'test:stderr') printed.set(data.file, `${printed.get(data.file) ?? ''}${data.message}`);
    if (type === 'test:coverage') tellLines(data.summary.files.map(linesOf));
    if (!data?.name || !isFile(data) || isInterrupted(data)) continue;
    if (type === 'test:enqueue') tell({ event: 'start', id: below(data.file), file: below(data.file) });
    else if (type === 'test:pass') await ended(data, undefined);
    else if (type === 'test:fail') await ended(data, data.details?.error ?? {});
  }
}
