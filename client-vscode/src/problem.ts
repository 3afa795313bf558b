// What a person reads when something is wrong: what happened, why, how to fix it, and buttons that help (EDI-01).
import type { ErrorCode } from './contract';

/** The server's error codes, and codes for what goes wrong before a server runs. */
export type ProblemCode = ErrorCode | 'no_folder' | 'server_missing' | 'install_failed' | 'server_failed' | 'server_lost' | 'connection_lost';

export interface Problem {
  readonly code: ProblemCode;
  readonly what: string;
  readonly why: string;
  readonly fix: string;
}

export const REMEDIES = {
  again: { label: 'Ask Again', command: 'remit.askAgain' },
  folder: { label: 'Open Folder', command: 'workbench.action.files.openFolder' },
  install: { label: 'Install the Server', command: 'remit.installServer' },
  serverSetting: { label: 'Set Server Path', command: 'remit.setServerPath' },
  modelSetting: { label: 'Connect a Model', command: 'remit.setModel' },
  policy: { label: 'Open Policy', command: 'remit.openPlace' },
  file: { label: 'Open File', command: 'remit.openPlace' },
  retry: { label: 'Try Again', command: 'remit.restart' },
  restart: { label: 'Restart Server', command: 'remit.restart' },
  log: { label: 'Show Log', command: 'remit.openLog' },
} as const;

export type Remedy = keyof typeof REMEDIES;

const HELPS: { readonly [code in ProblemCode]?: readonly Remedy[] } = {
  denied: [],
  no_folder: ['folder'],
  server_missing: ['install', 'serverSetting', 'retry'],
  install_failed: ['install', 'log', 'serverSetting'],
  server_failed: ['log', 'serverSetting', 'retry'],
  server_lost: ['restart', 'log'],
  connection_lost: ['again', 'log'],
  policy_invalid: ['policy', 'retry'],
  model_unavailable: ['again', 'modelSetting', 'log'],
  model_failed: ['again', 'log'],
  audit_broken: ['log', 'retry'],
  internal: ['log', 'restart'],
};

/** The remedies for a problem, best first. */
export function remediesFor(problem: Problem): readonly Remedy[] {
  return HELPS[problem.code] ?? (placeOf(problem) ? ['file', 'retry'] : []);
}

export function isRemedy(value: unknown): value is Remedy {
  return typeof value === 'string' && Object.hasOwn(REMEDIES, value);
}

export interface Place {
  readonly file: string;
  /** Zero-based, as editors count. */
  readonly line: number;
  readonly character: number;
}

/** Returns the place that the `why` of a problem with a file starts with (`/a/policy.yaml:3:5: …`), or null. */
export function placeOf(problem: Problem): Place | null {
  const [, file, line, column] = /^(\/.+?):(\d+):(\d+): /.exec(problem.why) ?? [];
  return file ? { file, line: Number(line) - 1, character: Number(column) - 1 } : null;
}

export function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** The problem as one paragraph, for places that show no markup. */
export function inWords({ what, why, fix }: Problem): string {
  return `${sentence(what)}: ${why}. ${sentence(fix)}.`.replace(/`([^`]*)`/g, '“$1”');
}

const REQUEST_CANCELLED = -32800;
/** Error codes of vscode-jsonrpc: the connection was disposed of, or no longer works. */
const CONNECTION_GONE = [-32097, -32096];

/** Makes a problem of the value that a request rejected with. */
export function problemOf(error: unknown): Problem {
  if (isProblem(error)) return error;
  const { code, data, message } = record(error);
  if (isProblem(data)) return data;
  if (code === REQUEST_CANCELLED) {
    return { code: 'cancelled', what: 'this was stopped', why: 'you stopped it', fix: 'ask again to go on' };
  }
  if (typeof code === 'number' && CONNECTION_GONE.includes(code)) {
    return {
      code: 'connection_lost',
      what: 'the server stopped while it was working',
      why: 'its process is gone; nothing was allowed after that',
      fix: 'ask again; this restarts the server',
    };
  }
  return {
    code: 'internal',
    what: 'the server did not answer',
    why: typeof message === 'string' && message ? message : String(error),
    fix: 'ask again; if that fails, restart the server and look at its log',
  };
}

function isProblem(value: unknown): value is Problem {
  const { code, what, why, fix } = record(value);
  return [code, what, why, fix].every((each) => typeof each === 'string');
}

function record(value: unknown): { readonly [key: string]: unknown } {
  return typeof value === 'object' && value !== null ? (value as { readonly [key: string]: unknown }) : {};
}
