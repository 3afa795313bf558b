// The way of a report out of the sandbox: a pipe that can be written to and not rewritten, in lines that are numbered and
// signed with the run's own key (TOOL-08). The key comes by a pipe that is empty after it was read, here, where no code
// of the workspace runs: tests have processes, or at least contexts, of their own.
const { createHmac } = require('node:crypto');
const { closeSync, readFileSync, writeSync } = require('node:fs');

const REPORT_FD = 8;
const KEY_FD = 9;

const key = readFileSync(KEY_FD, 'utf8').trim();
closeSync(KEY_FD);
let number = 0;

/** Writes one value as a line of the report, by way of bytes, for halves of signs are no text. */
exports.tell = (value) => {
  const line = Buffer.from(JSON.stringify(value), 'utf8');
  const signature = createHmac('sha256', key).update(`${number}`).update(' ').update(line).digest('hex');
  number += 1;
  let rest = Buffer.concat([Buffer.from(`${signature} `), line, Buffer.from('\n')]);
  while (rest.length > 0) rest = rest.subarray(writeSync(REPORT_FD, rest));
};

/** Tells how many lines of each file ran; `files` has the count of each line that could. */
exports.tellLines = (files) => {
  const told = files.map(({ path, lines }) => {
    const missed = lines.filter(([, count]) => !count).map(([line]) => line);
    return { path, ran: lines.length - missed.length, all: lines.length, missed };
  });
  if (told.length > 0) exports.tell({ coverage: { files: told } });
};

/** The same of a coverage map of Istanbul's: a line ran as often as the statement of it that most often did. */
exports.tellCoverage = (map) => {
  const files = Object.entries(map?.toJSON?.() ?? {}).map(([path, file]) => {
    const { statementMap, s } = file.toJSON?.() ?? file;
    const counts = new Map();
    for (const [name, { start }] of Object.entries(statementMap)) {
      counts.set(start.line, Math.max(counts.get(start.line) ?? 0, s[name]));
    }
    return { path, lines: [...counts] };
  });
  exports.tellLines(files);
};
