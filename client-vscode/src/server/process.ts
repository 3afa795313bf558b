// The server's process: starts it, keeps the end of its error output, and makes sure that it ends.
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import type { Problem } from '../problem';

/** A server that has not answered by then is killed. */
const START_LIMIT_MS = 60_000;
/** How long the server has to end by itself. */
const GRACE_MS = 4_000;
const EXIT_WAIT_MS = 1_000;
const LAST_WORDS = 300;

export interface ServerProcess {
  readonly child: ChildProcessWithoutNullStreams;
  /** Removes the time limit of the start, because the server has answered. */
  started(): void;
  /** Ends the process, by force if it does not end by itself; `reason` is kept for `failure`. */
  end(reason?: string): void;
  /** Explains why the server could not be started. Waits a moment for the exit, which says more than a broken pipe. */
  failure(error: unknown): Promise<Problem>;
}

export function spawnServer(
  program: string, folder: string, environment: { readonly [name: string]: string }, startLimitMs = START_LIMIT_MS,
): ServerProcess {
  const child = spawn(program, ['serve'], { cwd: folder, env: { ...process.env, ...environment } });
  let said = '';
  let why: string | null = null;
  child.stderr.on('data', (data: Buffer) => { said = (said + data.toString()).slice(-LAST_WORDS); });
  child.stdin.on('error', () => undefined); // The pipe broke; the exit says why.
  const limit = setTimeout(() => {
    why = `it did not answer within ${startLimitMs / 1000} seconds`;
    child.kill('SIGKILL');
  }, startLimitMs);
  const gone = new Promise<void>((resolve) => {
    child.on('error', (error) => { why ??= error.message; resolve(); });
    child.on('close', (code, signal) => {
      clearTimeout(limit);
      why ??= `it ended ${code === null ? `by ${signal}` : `with code ${code}`}${words(said)}`;
      resolve();
    });
  });
  return {
    child,
    started: () => clearTimeout(limit),
    end: (reason) => {
      clearTimeout(limit);
      why ??= reason ?? null;
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.stdin.end();
      const force = setTimeout(() => child.kill('SIGKILL'), GRACE_MS);
      child.on('exit', () => clearTimeout(force));
    },
    failure: async (error) => {
      await Promise.race([gone, new Promise((resolve) => { setTimeout(resolve, EXIT_WAIT_MS); })]);
      return {
        code: 'server_failed',
        what: `the server \`${program}\` cannot be started`,
        why: why ?? (error instanceof Error ? error.message : String(error)),
        fix: 'look at its log, or set `remit.serverPath` to another one',
      };
    },
  };
}

function words(said: string): string {
  const last = said.trim().split('\n').at(-1);
  return last ? `, saying: ${last}` : '';
}
