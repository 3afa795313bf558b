// Installs the server in an environment of its own, from the wheel that the extension includes (EDI-10). Knows nothing of VS Code.
// Each install has a folder of its own, and a small file names the current one, so that an interrupted install changes nothing.
import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { accessSync, constants, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Problem } from '../problem';
import { explainFailure, NO_WHEEL, pythonProblem } from './install_words';

const OLDEST: readonly [number, number] = [3, 11];
const PYTHONS = ['python3', 'python3.14', 'python3.13', 'python3.12', 'python3.11', 'python'];
const LAST_WORDS = 4_000;
/** Environment variables that are meant for another environment, or that would make Python, pip or uv work in another place. */
const FOREIGN = /^(PYTHON(HOME|PATH|STARTUP)|VIRTUAL_ENV|CONDA_PREFIX|PIP_(TARGET|PREFIX|USER|REQUIRE_VIRTUALENV)|UV_PROJECT.*)$/;

/** The files that the extension includes: a wheel, and the list of all packages that it needs, with versions and hashes. */
export interface Bundle {
  readonly wheel: string;
  readonly requirements: string;
  /** The server's version, from the name of the wheel. */
  readonly version: string;
  /** The digest of both files, to tell whether an installed server was made from exactly these. */
  readonly digest: string;
}

export interface Installed {
  readonly program: string;
  readonly version: string;
  readonly digest: string;
}

export interface Work {
  /** The folder for the environments: the extension's own storage. */
  readonly root: string;
  readonly environment: { readonly [name: string]: string | undefined };
  readonly log: (line: string) => void;
  readonly step: (words: string) => void;
  readonly signal: AbortSignal;
}

/** Finds the wheel in the extension's folder `bundled`; null if the extension was packaged without one. */
export function findBundle(folder: string): Bundle | null {
  try {
    const wheel = readdirSync(folder).find((name) => /^remit-[\w.+]+-py3-none-any\.whl$/.test(name));
    if (!wheel) return null;
    const [file, requirements] = [path.join(folder, wheel), path.join(folder, 'requirements.txt')];
    const digest = createHash('sha256').update(readFileSync(file)).update(readFileSync(requirements)).digest('hex');
    return { wheel: file, requirements, version: wheel.split('-')[1]!, digest };
  } catch {
    return null;
  }
}

/** The server that was installed here last, or null. */
export function findInstalled(root: string): Installed | null {
  try {
    const { folder, version, digest } = JSON.parse(readFileSync(recordOf(root), 'utf8')) as { readonly [key: string]: unknown };
    if (typeof folder !== 'string' || typeof version !== 'string' || typeof digest !== 'string' || path.basename(folder) !== folder) return null;
    const program = path.join(root, folder, 'bin', 'remit');
    return isProgram(program) ? { program, version, digest } : null;
  } catch {
    return null;
  }
}

/** Installs the bundled server. Rejects with a `Problem`; then the server that was installed before is still in place. */
export async function installServer(bundle: Bundle | null, work: Work): Promise<Installed> {
  if (!bundle) throw NO_WHEEL;
  mkdirSync(work.root, { recursive: true });
  const folder = `server-${bundle.digest.slice(0, 12)}-${randomBytes(3).toString('hex')}`;
  const target = path.join(work.root, folder);
  try {
    await fill(target, bundle, work);
  } catch (error) {
    rmSync(target, { recursive: true, force: true, maxRetries: 5 });
    throw error;
  }
  const before = recorded(work.root);
  const record = { folder, version: bundle.version, digest: bundle.digest };
  writeFileSync(`${recordOf(work.root)}.new`, JSON.stringify(record));
  renameSync(`${recordOf(work.root)}.new`, recordOf(work.root));
  forget(work.root, [folder, before]);
  return { program: path.join(target, 'bin', 'remit'), version: bundle.version, digest: bundle.digest };
}

async function fill(target: string, bundle: Bundle, work: Work): Promise<void> {
  const uv = onPath('uv', work.environment);
  const python = path.join(target, 'bin', 'python');
  work.step('looking for Python');
  const found = await findPython(work);
  const install = uv ? [uv, 'pip', 'install', '--python', python] : [python, '-I', '-m', 'pip', 'install', '--disable-pip-version-check', '--no-input'];
  work.step('creating an environment');
  await run(uv ? [uv, 'venv', '--no-project', '--python', found, target] : [found, '-I', '-m', 'venv', target], work);
  work.step('installing what the server needs');
  await run([...install, '--requirement', bundle.requirements], work);
  work.step('installing the server');
  await run([...install, '--no-deps', bundle.wheel], work);
  await run([path.join(target, 'bin', 'remit'), '--version'], work);
}

/** The first Python on the PATH that is new enough. Rejects with a `Problem` that names the Python that was found. */
async function findPython(work: Work): Promise<string> {
  const seen: { readonly program: string; readonly version: string }[] = [];
  for (const name of PYTHONS) {
    const program = onPath(name, work.environment);
    if (!program) continue;
    const said = await run([program, '-I', '-c', 'import sys; print("%d.%d" % sys.version_info[:2])'], work).catch(() => '');
    const [major, minor] = said.trim().split('.').map(Number);
    if (major === OLDEST[0] && minor !== undefined && minor >= OLDEST[1]) return program;
    if (said) seen.push({ program, version: said.trim() });
    if (work.signal.aborted) throw STOPPED;
  }
  throw pythonProblem(OLDEST.join('.'), seen);
}

const STOPPED: Problem = {
  code: 'cancelled', what: 'the server was not installed', why: 'you stopped it', fix: 'install it again when you like',
};

/** Runs one program to its end and returns the last part of its output; never through a shell, and never in the workspace. */
function run(command: readonly string[], work: Work): Promise<string> {
  const [program, ...args] = command as [string, ...string[]];
  work.log(`$ ${command.join(' ')}`);
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd: work.root, env: cleanEnvironment(work.environment), detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
    let said = '';
    let printed = '';
    const take = (data: Buffer): void => {
      said = (said + data.toString()).slice(-LAST_WORDS);
      for (const line of data.toString().split(/[\r\n]+/).filter(Boolean)) work.log(line);
    };
    const stop = (): void => { if (child.pid) killGroup(child.pid); };
    work.signal.addEventListener('abort', stop, { once: true });
    if (work.signal.aborted) stop();
    child.stdout.on('data', (data: Buffer) => { printed = (printed + data.toString()).slice(-LAST_WORDS); take(data); });
    child.stderr.on('data', take);
    child.on('error', (error) => reject(explainFailure(program, error.message)));
    child.on('close', (code) => {
      work.signal.removeEventListener('abort', stop);
      if (work.signal.aborted) reject(STOPPED);
      else if (code === 0) resolve(printed);
      else reject(explainFailure(program, said));
    });
  });
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // the group has already ended
  }
}

function cleanEnvironment(given: Work['environment']): NodeJS.ProcessEnv {
  const kept = Object.entries(given).filter(([name]) => !FOREIGN.test(name));
  return { ...Object.fromEntries(kept), UV_NO_PROGRESS: '1', UV_PYTHON_DOWNLOADS: 'never' };
}

/** Finds a program on the PATH. Skips relative entries, because they depend on the current folder, which anybody may write to. */
function onPath(name: string, { PATH = '' }: Work['environment']): string | null {
  const folders = PATH.split(path.delimiter).filter((folder) => path.isAbsolute(folder));
  return folders.map((folder) => path.join(folder, name)).find(isProgram) ?? null;
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

function recordOf(root: string): string {
  return path.join(root, 'server.json');
}

function recorded(root: string): string | null {
  const installed = findInstalled(root);
  return installed && path.basename(path.dirname(path.dirname(installed.program)));
}

/** Removes old servers. The previous one stays until the next install, because a window may still run it. */
function forget(root: string, kept: readonly (string | null)[]): void {
  for (const name of readdirSync(root)) {
    if (name.startsWith('server-') && !kept.includes(name)) rmSync(path.join(root, name), { recursive: true, force: true, maxRetries: 5 });
  }
}
