// Installs a server in an environment of its own, with a real Python and a real wheel; failures are explained (EDI-10).
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { findBundle, findInstalled, installServer, type Bundle, type Work } from '../../src/server/install';
import { explainFailure } from '../../src/server/install_words';

/** A script that makes a wheel with one program, which prints its version. */
const WHEEL = `
import sys, zipfile
folder, version = sys.argv[1:]
with zipfile.ZipFile(f"{folder}/remit-{version}-py3-none-any.whl", "w") as wheel:
    info = f"remit-{version}.dist-info"
    wheel.writestr("remit_stand_in.py", f"def main(): print('remit {version}')\\n")
    wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\\nName: remit\\nVersion: {version}\\nRequires-Dist: not-there\\n")
    wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
    wheel.writestr(f"{info}/entry_points.txt", "[console_scripts]\\nremit = remit_stand_in:main\\n")
    wheel.writestr(f"{info}/RECORD", "")
`;

let home: string;
beforeEach(() => { home = mkdtempSync(path.join(tmpdir(), 'remit-install-')); });
afterEach(() => { rmSync(home, { recursive: true, force: true }); });

function bundle(version: string, requirements = ''): Bundle {
  const folder = path.join(home, `bundled-${version}`);
  mkdirSync(folder);
  execFileSync('python3', ['-c', WHEEL, folder, version]);
  writeFileSync(path.join(folder, 'requirements.txt'), requirements);
  return findBundle(folder)!;
}

function work(change: Partial<Work> = {}): Work & { readonly said: string[] } {
  const said: string[] = [];
  // Without a network, and without uv unless a test asks for it.
  const environment = { PATH: '/usr/bin:/bin:/usr/local/bin', PIP_NO_INDEX: '1', UV_NO_INDEX: '1', UV_OFFLINE: '1', PYTHONPATH: '/nowhere', HOME: home };
  return { root: path.join(home, 'storage'), environment, log: (line) => said.push(line), step: () => undefined, signal: new AbortController().signal, said, ...change };
}

/** Work with the uv of this repository's own environment on the PATH, if it is there. */
function withUv(change: Partial<Work> = {}): Work {
  const made = work(change);
  return { ...made, environment: { ...made.environment, PATH: `${path.resolve('../.venv/bin')}:${made.environment['PATH']}` } };
}

/** A folder whose only Python is this shell script. */
function pythonThatSays(text: string): string {
  const folder = path.join(home, 'old');
  mkdirSync(folder, { recursive: true });
  writeFileSync(path.join(folder, 'python3'), `#!/bin/sh\n${text}\n`);
  chmodSync(path.join(folder, 'python3'), 0o755);
  return folder;
}

describe('EDI-10: the server is installed by a button', () => {
  test('into an environment of its own; a newer one takes its place, and one that fails or is stopped does not', async () => {
    const storage = path.join(home, 'storage');
    expect(findInstalled(storage)).toBeNull();
    const first = await installServer(bundle('1.0.0'), work());
    expect(execFileSync(first.program, { encoding: 'utf8' })).toBe('remit 1.0.0\n');
    expect(findInstalled(storage)).toEqual(first);

    const broken = bundle('1.1.0', 'no-such-package==1.0\n');
    const why: unknown = expect.stringContaining('lacks a package');
    await expect(installServer(broken, withUv())).rejects.toMatchObject({ code: 'install_failed', why });
    const stop = new AbortController();
    const stopped = installServer(bundle('1.2.0'), work({ signal: stop.signal, step: () => stop.abort() }));
    await expect(stopped).rejects.toMatchObject({ code: 'cancelled' });
    expect(findInstalled(storage)).toEqual(first);

    const second = await installServer(bundle('2.0.0'), withUv());
    expect(findInstalled(storage)).toMatchObject({ version: '2.0.0', program: second.program });
    expect(existsSync(first.program), 'another window may still run it').toBe(true);
    expect(readdirSync(storage).filter((name) => name.startsWith('server-'))).toHaveLength(2);
  }, 120_000);

  test('a Python that is too old, none at all, and one without environments are said with what helps', async () => {
    const made = bundle('1.0.0');
    const with_ = (folder: string): Work => work({ environment: { PATH: folder } });
    await expect(installServer(made, with_(pythonThatSays('echo 3.9')))).rejects.toMatchObject({ why: expect.stringContaining('is Python 3.9, and Remit needs 3.11') });
    await expect(installServer(made, with_('/nowhere'))).rejects.toMatchObject({ why: 'there is no Python on the PATH' });
    const bare = pythonThatSays('case "$*" in *version_info*) echo 3.12;; *) echo "ensurepip is not available" >&2; exit 1;; esac');
    await expect(installServer(made, with_(bare))).rejects.toMatchObject({ fix: expect.stringContaining('python3-venv') });
    await expect(installServer(null, work())).rejects.toMatchObject({ why: expect.stringContaining('without the server') });
  });

  test('a relative entry of the PATH is not followed, and what the workspace could set in the environment is left out', async () => {
    const made = bundle('1.0.0');
    await expect(installServer(made, work({ environment: { PATH: '.:bin' } }))).rejects.toMatchObject({ why: 'there is no Python on the PATH' });
    const told = pythonThatSays('case "$*" in *version_info*) echo 3.12;; *) echo "path=$PYTHONPATH" >&2; exit 1;; esac');
    await expect(installServer(made, work({ environment: { PATH: `${told}:/bin`, PYTHONPATH: '/evil' } }))).rejects.toMatchObject({ why: expect.stringMatching(/path=$/) });
  });
});

describe('what a tool printed is read', () => {
  test.each([
    ['Failed to establish a new connection: [Errno 101] Network is unreachable', 'the package index cannot be reached'],
    ['error: Failed to fetch: `https://x/`\n  Caused by: dns error: failed to lookup', 'the package index cannot be reached'],
    ['THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE', 'a package differs from the one that this version was built with'],
    ['OSError: [Errno 28] No space left on device', 'the disk is full'],
    ['odd\nlast line', '`pip` failed, saying: last line'],
  ])('%s', (said, why) => { expect(explainFailure('pip', said)).toMatchObject({ why }); });
});

test.each(['{}', '{"folder": "../x", "version": "1", "digest": "d"}', 'no json'])('a record that is not ours is none: %s', (text) => {
  writeFileSync(path.join(home, 'server.json'), text);
  expect(findInstalled(home)).toBeNull();
});
