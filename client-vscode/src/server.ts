// Finds `remit serve`, starts it, and speaks to it through vscode-languageclient (protocol.md §3).
import { accessSync, constants, statSync } from 'node:fs';
import * as vscode from 'vscode';
import {
  CloseAction, ErrorAction, ExecuteCommandRequest, LanguageClient, ProgressType, RequestType, RevealOutputChannelOn, State,
  type LanguageClientOptions,
} from 'vscode-languageclient/node';
import type { AgentEvent, ApprovalAnswer, ApprovalReceipt, RunRequest, RunResult, StatusResult } from './contract';
import type { ServerPort } from './conversation';
import { locate, type Location } from './find';
import { problemOf } from './problem';
import type { Problem } from './view';

const RUN = new RequestType<RunRequest & { partialResultToken: string }, RunResult, unknown>('remit/run');
const ANSWER = new RequestType<ApprovalAnswer, ApprovalReceipt, unknown>('remit/approval/respond');
const STATUS = new RequestType<object, StatusResult, unknown>('remit/status');
const EVENTS = new ProgressType<AgentEvent>();
/** Commands of ours that the server's code actions may carry: they need an input box or the chat. */
export const CLIENT_COMMANDS = { rename: 'remit.client.rename', ask: 'remit.client.ask' } as const;
const RESTARTS_PER_REQUEST = 1;

export interface Server extends ServerPort {
  status(): Promise<StatusResult>;
  verifyAudit(): Promise<{ readonly ok: boolean; readonly message: string }>;
  restart(): Promise<void>;
  stop(): Promise<void>;
  readonly running: () => boolean;
  readonly onDidChange: vscode.Event<void>;
}

/** The server of the first workspace folder. It starts when asked to (`restart`) or with the first request. */
export function openServer(memory: vscode.Memento, log: vscode.LogOutputChannel): Server {
  const changed = new vscode.EventEmitter<void>();
  let client: LanguageClient | null = null;
  let starting: Promise<LanguageClient> | null = null;
  let restarts = 0;

  const start = async (): Promise<LanguageClient> => {
    const location = await find(memory);
    if (location.kind === 'missing') throw location satisfies Problem;
    log.info(`starting ${location.program} serve (found by: ${location.from})`);
    const folder = vscode.workspace.workspaceFolders?.[0];
    const created = new LanguageClient('remit', 'Remit', {
      command: location.program,
      args: ['serve'],
      options: folder ? { cwd: folder.uri.fsPath } : {},
    }, clientOptions(log, folder, () => restarts++ < RESTARTS_PER_REQUEST));
    created.onDidChangeState(() => changed.fire());
    await created.start();
    client = created;
    return created;
  };

  // Two requests at once share one start; a failed start is forgotten, so that the next request tries again.
  const ready = async (): Promise<LanguageClient> => {
    if (client && client.state !== State.Stopped) return client;
    starting ??= start().finally(() => { starting = null; });
    return starting;
  };

  const stop = async (): Promise<void> => {
    const old = client;
    client = null;
    if (old && old.state === State.Running) await old.stop();
    await old?.dispose();
  };

  const request = async <T>(send: (client: LanguageClient) => Promise<T>): Promise<T> => {
    try {
      restarts = 0;
      return await send(await ready());
    } catch (error) {
      throw isProblem(error) ? error : problemOf(error);
    }
  };

  return {
    onDidChange: changed.event,
    running: () => client?.state === State.Running,
    stop,
    restart: async () => {
      await stop();
      await request(async () => undefined);
    },
    run: (params, onEvent, signal) => request((to) => runTurn(to, params, onEvent, signal)),
    answer: (answer) => request((to) => to.sendRequest(ANSWER, answer)),
    status: () => request((to) => to.sendRequest(STATUS, {})),
    verifyAudit: () => request((to) => to.sendRequest(ExecuteCommandRequest.type, { command: 'remit.audit.verify' })),
  };
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

function clientOptions(
  log: vscode.LogOutputChannel, folder: vscode.WorkspaceFolder | undefined, mayRestart: () => boolean,
): LanguageClientOptions {
  return {
    documentSelector: [{ scheme: 'file' }],
    ...(folder ? { workspaceFolder: folder } : {}),
    outputChannel: log,
    revealOutputChannelOn: RevealOutputChannelOn.Never,
    initializationOptions: { remit: { approvals: 'stream', client_commands: Object.values(CLIENT_COMMANDS) } },
    errorHandler: {
      error: () => ({ action: ErrorAction.Continue, handled: true }),
      closed: () => {
        if (mayRestart()) return { action: CloseAction.Restart, message: 'the server ended, starting it again', handled: true };
        void showProblem({
          what: 'the Remit server ended again',
          why: 'it was already started a second time for this request',
          fix: 'look at its log, then restart it',
        });
        return { action: CloseAction.DoNotRestart, handled: true };
      },
    },
  };
}

/** Shows a problem with the buttons that mend it. */
export async function showProblem(problem: Problem): Promise<void> {
  const actions = { 'Restart Server': 'remit.restart', 'Show Log': 'remit.openLog', 'Open Setting': 'remit.openSetting' };
  const chosen = await vscode.window.showErrorMessage(
    `${sentence(problem.what)}: ${problem.why}. ${sentence(problem.fix)}.`, ...Object.keys(actions),
  );
  if (chosen) await vscode.commands.executeCommand(actions[chosen as keyof typeof actions]);
}

/** A program that the workspace brought along runs only after the person has said so, once for each path. */
async function find(memory: vscode.Memento): Promise<Location> {
  const places = {
    setting: vscode.workspace.getConfiguration('remit').get('serverPath', ''),
    workspace: vscode.workspace.workspaceFolders?.[0]?.uri.fsPath ?? null,
    searchPath: process.env['PATH'] ?? '',
  };
  const location = locate(places, isProgram);
  if (location.kind === 'missing' || location.from !== 'workspace') return location;
  const key = `workspace-server:${location.program}`;
  const answer = memory.get<boolean>(key) ?? await confirm(location.program);
  if (answer !== undefined) await memory.update(key, answer);
  return answer ? location : locate({ ...places, workspace: null }, isProgram);
}

async function confirm(program: string): Promise<boolean | undefined> {
  const use = 'Use This Server';
  const other = 'Use the One on PATH';
  const chosen = await vscode.window.showWarningMessage(
    `This workspace has its own Remit server, ${program}. It will decide what the agent may do here.`, use, other,
  );
  return chosen === undefined ? undefined : chosen === use;
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

function isProblem(error: unknown): error is Problem {
  return typeof error === 'object' && error !== null && 'what' in error && 'why' in error && 'fix' in error;
}

function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
