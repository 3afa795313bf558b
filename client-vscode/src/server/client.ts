// Starts `remit serve` and speaks to it through vscode-languageclient (LSP-04).
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
/** Commands of ours that the server's code actions may carry: they need an input box or the chat. */
export const CLIENT_COMMANDS = { rename: 'remit.client.rename', ask: 'remit.client.ask', edit: 'remit.client.edit' } as const;
const RESTARTS_PER_REQUEST = 1;
/** How long a stop waits for a start that is under way; a server that has not answered by then is ended in it. */
const START_WAIT_MS = 5_000;

const GENERATE = new RequestType<GenerationRequest & { partialResultToken: string }, GenerationResult, unknown>('remit/generate');
const DELTAS = new ProgressType<{ readonly delta: string }>();

export interface Server extends ServerPort {
  /** How the server is, and where this session stands in its workflow. */
  status(session_id: string): Promise<StatusResult>;
  verifyAudit(): Promise<{ readonly ok: boolean; readonly message: string }>;
  /** A command of the server about the current folder (docs/editors/protocol.md); `alone`: about no folder. */
  command<T>(name: FolderCommand, argument?: object, how?: { readonly alone: boolean }): Promise<T>;
  /** Asks the model by itself, without tools (`remit/generate`); its text comes in pieces. */
  generate(request: GenerationRequest, onText: (text: string) => void, token: vscode.CancellationToken): Promise<GenerationResult>;
  restart(): Promise<void>;
  stop(): Promise<void>;
  readonly running: () => boolean;
  /** Its version, as it says itself; null where none runs. */
  readonly version: () => string | null;
  /** The server came, or went; with a problem when it went for good. */
  readonly onDidChange: vscode.Event<Problem | null>;
}

export type FolderCommand =
  | `remit.session.${'list' | 'load' | 'rename' | 'fork' | 'delete' | 'export'}` | `remit.chat.${'read' | 'complete'}` | `remit.model.${'list' | 'use'}`
  | 'remit.undo' | 'remit.redo' | 'remit.audit.query' | 'remit.policy.rules' | 'remit.policy.open' | 'remit.policy.preview';

/** Says its errors in the log only: what a person has to know, they are told in words of ours. */
class QuietClient extends LanguageClient {
  override error(message: string, data?: unknown): void {
    super.error(message, data, false);
  }
}

interface Running {
  readonly client: LanguageClient;
  readonly process: ServerProcess;
}

/** One server for all workspace folders. It starts when asked to (`restart`) or with the first request. */
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

  // Two requests at once share one start; a failed start is forgotten, so that the next request tries again.
  const ready = (): Promise<LanguageClient> => {
    if (starting) return starting;
    if (current?.client.state === State.Running) return Promise.resolve(current.client);
    const mine = start().finally(() => { if (starting === mine) starting = null; });
    starting = mine;
    return mine;
  };

  /** The process is gone and nobody asked it to go. While it was starting, the start itself fails. */
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
    // A client whose server goes away while it starts says errors on the console of VS Code.
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

/** Waits until it has ended, well or badly, but no longer than this. */
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

/** The settings of this extension by their first word behind `remit.`, as its manifest has them. */
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
    // VS Code starts extensions like this one in trusted workspaces only.
    initializationOptions: {
      remit: { approvals: 'stream', client_commands: Object.values(CLIENT_COMMANDS), editor_query: true, trusted: true },
    },
    // What this extension sets itself is not the server's; whatever else is there goes to it, which says what does not count.
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
