// Starts `remit serve` and talks to it through vscode-languageclient (LSP-04).
import { randomUUID } from 'node:crypto';
import * as vscode from 'vscode';
import {
  CloseAction, ErrorAction, ExecuteCommandRequest, LanguageClient, ProgressType, RequestType, RevealOutputChannelOn, State,
  type LanguageClientOptions,
} from 'vscode-languageclient/node';
import type { ServerPort } from '../chat/conversation';
import { messagesUpTo, turnsOf } from '../chat/replay';
import type {
  AgentEvent, ApprovalAnswer, ApprovalReceipt, GenerationRequest, GenerationResult, RunRequest, RunResult, SessionRecord, SessionSummary,
  StatusResult,
} from '../contract';
import { answerQuery, type Answer, type Query } from '../editor/queries';
import { currentFolder, openFolders } from '../editor/workspace';
import { problemOf, type Problem } from '../problem';
import { findServer, serverEnvironment, type Keeping } from './launch';
import { spawnServer, type ServerProcess } from './process';

const RUN = new RequestType<RunRequest & { partialResultToken: string }, RunResult, unknown>('remit/run');
const ANSWER = new RequestType<ApprovalAnswer, ApprovalReceipt, unknown>('remit/approval/respond');
const STATUS = new RequestType<object, StatusResult, unknown>('remit/status');
const QUERY = new RequestType<Query, Answer, unknown>('remit/editor/query');
const EVENTS = new ProgressType<AgentEvent>();
/** Commands of this extension that the server may use in code actions, because they need an input box or the chat. */
export const CLIENT_COMMANDS = { rename: 'remit.client.rename', ask: 'remit.client.ask', edit: 'remit.client.edit' } as const;
const RESTARTS_PER_REQUEST = 1;
/** How long a stop waits for a running start. A server that has not answered by then is ended during its start. */
const START_WAIT_MS = 5_000;

const GENERATE = new RequestType<GenerationRequest & { partialResultToken: string }, GenerationResult, unknown>('remit/generate');
const DELTAS = new ProgressType<{ readonly delta: string }>();

export interface Server extends ServerPort {
  /** The state of the server, and this session's standing in its workflow. */
  status(session_id: string): Promise<StatusResult>;
  verifyAudit(): Promise<{ readonly ok: boolean; readonly message: string }>;
  /** Runs a command of the server about the current folder (docs/editors/protocol.md), or with `alone` about no folder. */
  command<T>(name: FolderCommand, argument?: object, how?: { readonly alone: boolean }): Promise<T>;
  /** Asks the model directly, without tools (`remit/generate`); its text comes in pieces. */
  generate(request: GenerationRequest, onText: (text: string) => void, token: vscode.CancellationToken): Promise<GenerationResult>;
  restart(): Promise<void>;
  stop(): Promise<void>;
  readonly running: () => boolean;
  /** The version that the server reports, or null if none runs. */
  readonly version: () => string | null;
  /** Fires when the server has started or ended; with a problem if it will not be started again. */
  readonly onDidChange: vscode.Event<Problem | null>;
}

export type FolderCommand =
  | `remit.session.${'list' | 'load' | 'rename' | 'fork' | 'delete' | 'export'}` | `remit.chat.${'read' | 'complete'}` | `remit.model.${'list' | 'use'}`
  | 'remit.undo' | 'remit.redo' | 'remit.audit.query' | 'remit.policy.rules' | 'remit.policy.open' | 'remit.policy.preview';

/** Writes its errors only to the log, because the extension tells the person itself what they need to know. */
class QuietClient extends LanguageClient {
  override error(message: string, data?: unknown): void {
    super.error(message, data, false);
  }
}

interface Running {
  readonly client: LanguageClient;
  readonly process: ServerProcess;
}

/** One server for all workspace folders. It starts with `restart` or with the first request. */
export function openServer(keeping: Keeping, log: vscode.LogOutputChannel): Server {
  const changed = new vscode.EventEmitter<Problem | null>();
  let current: Running | null = null;
  let starting: Promise<LanguageClient> | null = null;
  let restarts = 0;

  const start = async (): Promise<LanguageClient> => {
    const folder = vscode.workspace.workspaceFolders?.[0];
    if (!folder) throw NO_FOLDER;
    const location = await findServer(keeping);
    if (location.kind === 'missing') throw { code: 'server_missing', ...location } satisfies Problem;
    log.info(`starting ${location.program} serve (found by: ${location.from})`);
    const process = spawnServer(location.program, folder.uri.fsPath, serverEnvironment());
    const closed = (): void => { if (current?.process === process) lost(); };
    const client = new QuietClient('remit', 'Remit', () => Promise.resolve(process.child), options(log, closed));
    client.onRequest(QUERY, (query) => answerQuery(query, (vscode.workspace.workspaceFolders ?? []).map((each) => each.uri.fsPath)));
    try {
      current = { client, process };
      await client.start();
    } catch (error) {
      if (current?.process === process) current = null;
      process.end();
      throw await process.failure(error);
    }
    process.started();
    client.onDidChangeState(() => changed.fire(null));
    if (current?.process === process) changed.fire(null);
    return client;
  };

  // Simultaneous requests share one start. A failed start is forgotten, so that the next request tries again.
  const ready = (): Promise<LanguageClient> => {
    if (starting) return starting;
    if (current?.client.state === State.Running) return Promise.resolve(current.client);
    const mine = start().finally(() => { if (starting === mine) starting = null; });
    starting = mine;
    return mine;
  };

  /** Handles the unexpected end of the process. During a start it does nothing, because the start itself fails. */
  const lost = (): void => {
    if (starting) return;
    current = null;
    if (restarts++ < RESTARTS_PER_REQUEST) void ready().catch((error: unknown) => changed.fire(problemOf(error)));
    else changed.fire(ENDED_AGAIN);
  };

  const stop = async (): Promise<void> => {
    const old = current;
    if (!old) return;
    const start = starting;
    current = null;
    starting = null;
    // Wait for the start, because a client whose server ends during its start writes errors to VS Code's console.
    if (start) await settledWithin(start, START_WAIT_MS);
    if (old.client.state === State.Running) await old.client.stop().catch((error: unknown) => log.warn(String(error)));
    old.process.end('it was stopped');
  };

  const request = async <T>(send: (client: LanguageClient) => Promise<T>): Promise<T> => {
    try {
      restarts = 0;
      return await send(await ready());
    } catch (error) {
      throw problemOf(error);
    }
  };

  const command = <T>(name: FolderCommand, argument?: object, how = { alone: false }): Promise<T> => {
    const place = how.alone ? {} : { workspace_folder: currentFolder()?.uri.fsPath };
    return request((to) => to.sendRequest(ExecuteCommandRequest.type, { command: name, arguments: [{ ...place, ...argument }] }));
  };

  const records = async (session: string): Promise<readonly SessionRecord[]> =>
    (await command<{ readonly records: readonly SessionRecord[] }>('remit.session.load', { session })).records;

  return {
    onDidChange: changed.event,
    running: () => current?.client.state === State.Running,
    version: () => current?.client.initializeResult?.serverInfo?.version ?? null,
    stop,
    restart: async () => {
      await stop();
      await request(() => Promise.resolve());
    },
    run: (params, onEvent, signal) => request((to) => runTurn(to, params, onEvent, signal)),
    answer: (answer) => request((to) => to.sendRequest(ANSWER, answer)),
    status: (session_id) => request((to) => to.sendRequest(STATUS, { workspace_folder: currentFolder()?.uri.fsPath, session_id })),
    command,
    generate: (params, onText, token) => request((to) => generate(to, params, onText, token)),
    read: (text, session_id) => command('remit.chat.read', { text, session_id }),
    load: async (session) => turnsOf(await records(session), openFolders()),
    fork: async (session, turn, withTurn) => {
      const message = messagesUpTo(await records(session), turn, withTurn);
      if (message === 0) return null;
      return (await command<SessionSummary>('remit.session.fork', { session, message })).session_id;
    },
    verifyAudit: () => request((to) => to.sendRequest(ExecuteCommandRequest.type, { command: 'remit.audit.verify' })),
  };
}

const NO_FOLDER: Problem = {
  code: 'no_folder', what: 'no folder is open', why: 'Remit works on the files of a folder', fix: 'open the folder to work in',
};
const ENDED_AGAIN: Problem = {
  code: 'server_lost',
  what: 'the server ended again',
  why: 'it had already been restarted once',
  fix: 'look at its log, then restart it',
};

/** Waits until the work has succeeded or failed, but no longer than the limit. */
async function settledWithin(work: Promise<unknown>, limitMs: number): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const limit = new Promise((resolve) => { timer = setTimeout(resolve, limitMs); });
  await Promise.race([work.catch(() => undefined), limit]);
  clearTimeout(timer);
}

async function runTurn(
  client: LanguageClient, params: RunRequest, onEvent: (event: AgentEvent) => void, signal: AbortSignal,
): Promise<RunResult> {
  const token = `remit-${params.turn_id}`;
  const cancel = new vscode.CancellationTokenSource();
  const events = client.onProgress(EVENTS, token, onEvent);
  const abort = (): void => cancel.cancel();
  signal.addEventListener('abort', abort, { once: true });
  if (signal.aborted) abort();
  try {
    return await client.sendRequest(RUN, { ...params, partialResultToken: token }, cancel.token);
  } finally {
    signal.removeEventListener('abort', abort);
    events.dispose();
    cancel.dispose();
  }
}

async function generate(
  client: LanguageClient, params: GenerationRequest, onText: (text: string) => void, token: vscode.CancellationToken,
): Promise<GenerationResult> {
  const partialResultToken = `remit-generate-${randomUUID()}`;
  const deltas = client.onProgress(DELTAS, partialResultToken, ({ delta }) => onText(delta));
  try {
    return await client.sendRequest(GENERATE, { ...params, partialResultToken }, token);
  } finally {
    deltas.dispose();
  }
}

/** The first word after `remit.` of each setting that this extension's manifest declares. */
function ownSettings(): ReadonlySet<string> {
  const manifest = vscode.extensions.getExtension('remit.remit-vscode')?.packageJSON as
    | { contributes?: { configuration?: { properties?: object } } } | undefined;
  const names = Object.keys(manifest?.contributes?.configuration?.properties ?? {});
  return new Set(names.map((name) => name.split('.')[1] ?? ''));
}

function withoutOwnSettings(settings: unknown): unknown {
  if (typeof settings !== 'object' || settings === null) return settings;
  const own = ownSettings();
  return Object.fromEntries(Object.entries(settings).filter(([name]) => !own.has(name)));
}

function options(log: vscode.LogOutputChannel, closed: () => void): LanguageClientOptions {
  return {
    documentSelector: [{ scheme: 'file' }],
    outputChannel: log,
    revealOutputChannelOn: RevealOutputChannelOn.Never,
    // Always true, because VS Code runs this extension only in trusted workspaces.
    initializationOptions: {
      remit: { approvals: 'stream', client_commands: Object.values(CLIENT_COMMANDS), editor_query: true, trusted: true },
    },
    // Keep the extension's own settings from the server. All others go to it, and it reports those that it does not know.
    middleware: {
      workspace: {
        configuration: async (params, token, next) => {
          const found = await next(params, token);
          return Array.isArray(found) ? found.map(withoutOwnSettings) : found;
        },
      },
    },
    initializationFailedHandler: () => false,
    errorHandler: {
      error: () => ({ action: ErrorAction.Continue, handled: true }),
      closed: () => {
        closed();
        return { action: CloseAction.DoNotRestart, message: 'the server ended', handled: true };
      },
    },
  };
}
