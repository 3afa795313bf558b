// Activation and the command table: everything the extension adds to VS Code is named here.
import { randomUUID } from 'node:crypto';
import * as vscode from 'vscode';
import { chatView } from './chat';
import type { StatusResult } from './contract';
import { openConversation, type Conversation } from './conversation';
import { proposals as openProposals, SCHEME } from './proposal';
import { CLIENT_COMMANDS, openServer, showProblem, type Server } from './server';
import { draw, showMenu, statusItem, statusText, type ServerState } from './status';
import { visibleLine } from './text';
import { running, type Change, type Problem, type View } from './view';
import { editorContext } from './workspace';

let server: Server | null = null;

export function activate(context: vscode.ExtensionContext): void {
  const log = vscode.window.createOutputChannel('Remit', { log: true });
  const remit = openServer(context.globalState, log);
  server = remit;
  const item = statusItem();
  const proposals = openProposals();
  let state: ServerState = 'starting';
  let status: StatusResult | null = null;

  const redraw = (): void => {
    const view = conversation.view();
    draw(item, statusText(state, view, status));
    void vscode.commands.executeCommand('setContext', 'remit.running', running(view) !== null);
  };
  const refresh = async (): Promise<void> => {
    status = await remit.status().catch(() => null);
    redraw();
  };
  const changed = (change: Change, view: View): void => {
    chat.show(change);
    redraw();
    if (change.type === 'event' && change.event.kind === 'approval_required' && !chat.visible()) {
      void notify(conversation, change.event.approval_id, change.event.title);
    }
    if (change.type === 'event' && change.event.kind === 'approval_resolved') void proposals.close(change.event.approval_id);
    if (change.type === 'ended' && !running(view)) void refresh();
  };
  const conversation: Conversation = openConversation(remit, changed, randomUUID);
  const chat = chatView(context.extensionUri, () => conversation, proposals);

  const start = async (): Promise<void> => {
    state = 'starting';
    redraw();
    try {
      await remit.restart();
      state = 'ready';
      await refresh();
    } catch (problem) {
      state = 'stopped';
      redraw();
      await showProblem(problem as Problem);
    }
  };
  const ask = async (text: string): Promise<void> => {
    await chat.reveal();
    if (!conversation.ask(text, editorContext())) {
      void vscode.window.showInformationMessage('Remit is still working on the last request. Stop it or wait for it.');
    }
  };

  const commands: { readonly [id: string]: (...args: never[]) => unknown } = {
    'remit.open': () => chat.reveal(),
    'remit.newChat': async () => { conversation.clear(); await chat.reveal(); },
    'remit.stop': () => conversation.stop(),
    'remit.verifyAudit': () => verifyAudit(remit),
    'remit.openLog': () => log.show(),
    'remit.openSetting': () => vscode.commands.executeCommand('workbench.action.openSettings', 'remit.serverPath'),
    'remit.restart': start,
    'remit.menu': () => showMenu(conversation.view()),
    [CLIENT_COMMANDS.rename]: (target: { path: string; name: string }) => rename(target, ask),
    [CLIENT_COMMANDS.ask]: (question: { text: string }) => ask(question.text),
  };
  context.subscriptions.push(
    log,
    item,
    vscode.window.registerWebviewViewProvider('remit.chat', chat),
    vscode.workspace.registerTextDocumentContentProvider(SCHEME, proposals),
    remit.onDidChange(() => {
      state = remit.running() ? 'ready' : state === 'ready' ? 'stopped' : state;
      redraw();
    }),
    ...Object.entries(commands).map(([id, run]) => vscode.commands.registerCommand(id, run)),
  );
  redraw();
  void start();
}

export async function deactivate(): Promise<void> {
  await server?.stop();
}

/** The person cannot see the card, so say that it is there. Allowing needs the card, which shows what would happen. */
async function notify(conversation: Conversation, approvalId: string, title: string): Promise<void> {
  const chosen = await vscode.window.showWarningMessage(`Remit asks: ${visibleLine(title)}`, 'Review', 'Deny');
  if (chosen === 'Deny') await conversation.answer(approvalId, 'deny', 'once');
  if (chosen === 'Review') await vscode.commands.executeCommand('remit.open');
}

async function verifyAudit(remit: Server): Promise<void> {
  try {
    const { ok, message } = await remit.verifyAudit();
    await (ok ? vscode.window.showInformationMessage(message) : vscode.window.showErrorMessage(message));
  } catch (problem) {
    await showProblem(problem as Problem);
  }
}

async function rename(target: { path: string; name: string }, ask: (text: string) => Promise<void>): Promise<void> {
  const name = await vscode.window.showInputBox({
    title: `Rename ${target.name} with Remit`,
    prompt: `New name for ${target.name} in ${target.path}`,
    value: target.name,
    validateInput: (text) => {
      if (text === target.name) return 'type another name';
      return /^[\p{ID_Start}_$][\p{ID_Continue}$]*$/u.test(text) ? null : 'this is not an identifier';
    },
  });
  if (name) await ask(`rename ${target.name} to ${name} in ${target.path}`);
}
