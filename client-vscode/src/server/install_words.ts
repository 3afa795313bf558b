// Explains why the server could not be installed, from the output of uv, venv and pip (EDI-10). Pure.
import type { Problem } from '../problem';

const WHAT = 'the server was not installed';

export const NO_WHEEL: Problem = {
  code: 'install_failed',
  what: WHAT,
  why: 'this package of the extension was made without the server',
  fix: 'build one with `make package`, or set `remit.serverPath` to your own server',
};

/** Output of the tools and its meaning; the first pattern that matches is used. */
const MEANINGS: readonly (readonly [said: RegExp, why: string, fix: string])[] = [
  [
    /ensurepip|No module named '?(venv|pip)\b/i,
    'this Python has no module for environments',
    'install it (Debian, Ubuntu: `sudo apt install python3-venv`), or uv, then try again',
  ],
  [/No space left|ENOSPC/i, 'the disk is full', 'make room: the server and its model engine need 500 MB'],
  [
    /DO NOT MATCH THE HASHES|hash mismatch/i,
    'a package differs from the one that this version was built with',
    'look at where packages come from (`pip config list`), then try again',
  ],
  [
    /name resolution|name or service not known|dns error|network is unreachable|failed to establish|connection (refused|reset|timed out|error)|could not connect|error sending request|proxyerror|max retries|tunnel/i,
    'the package index cannot be reached',
    'go online and try again, or name an index that is reachable (`PIP_INDEX_URL`, for uv `UV_INDEX_URL`)',
  ],
  [
    /No matching distribution|no solution found|not found in the (package registry|provided package locations)|because the network was disabled/i,
    'the package index lacks a package that the server needs on this machine',
    'look in the log for the package',
  ],
];

/** Explains the failure of an installing program; `said` is the end of its output. */
export function explainFailure(program: string, said: string): Problem {
  const known = MEANINGS.find(([pattern]) => pattern.test(said));
  if (known) return { code: 'install_failed', what: WHAT, why: known[1], fix: known[2] };
  const last = said.trim().split('\n').at(-1)?.trim();
  return { code: 'install_failed', what: WHAT, why: `\`${program}\` failed${last ? `, saying: ${last.slice(0, 300)}` : ''}`, fix: 'look at its log' };
}

export function pythonProblem(oldest: string, seen: readonly { readonly program: string; readonly version: string }[]): Problem {
  const fix = `install Python ${oldest} or newer, then try again`;
  const [first] = seen;
  if (!first) return { code: 'install_failed', what: WHAT, why: 'there is no Python on the PATH', fix };
  return { code: 'install_failed', what: WHAT, why: `\`${first.program}\` is Python ${first.version}, and Remit needs ${oldest}`, fix };
}
