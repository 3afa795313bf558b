// Activation and the command table: everything the extension adds to VS Code is named here.
import { randomUUID } from 'node:crypto';
import * as vscode from 'vscode';
import { openConversation, type Conversation } from './chat/conversation';
import { provideChat, type Chat } from './chat/provider';
import { running, tookLong, type Change, type View } from './chat/view';
import type { ApprovalRequired } from './contract';
import { openLenses } from './editor/lenses';
import { openProposals, SCHEME } from './editor/proposals';
import { chooseSession, takeBack } from './editor/sessions';
import { draw, showMenu, showProblem, statusItem, statusText } from './editor/status';
import { openViews } from './editor/views';
import { editorContext, openFolders, openPlace } from './editor/workspace';
import { placeOf, problemOf, type Place } from './problem';
import { CLIENT_COMMANDS, openServer, type Server } from './server/client';
import { watchHealth, type Health } from './server/health';
import { visibleLine } from './text';

let server: Server | null = null;

export function activate(context: vscode.ExtensionContext): void {
  const log = vscode.window.createOutputChannel('Remit', { log: true });
  const remit = openServer(context.globalState, log);
  server = remit;
  const item = statusItem();
  const proposals = openProposals();

  const redraw = (): void => {
    draw(item, statusText(health.condition(), conversation.view()));
    void vscode.commands.executeCommand('setContext', 'remit.running', running(conversation.view()) !== null);
  };
  let shown: string | null = null;
  const health = watchHealth(remit, ({ state, status, problem }) => {
    chat.showServer({ state, model: status?.model ?? null, problem });
    redraw();
    if (state !== shown) views.refresh();
    shown = state;
  });
  const changed = (change: Change, view: View): void => {
    chat.show(change);
    redraw();
    lenses.changed();
    if (change.type === 'event' && change.event.kind === 'approval_required' && !chat.visible()) {
      void notify(conversation, change.event);
    }
    if (change.type === 'event' && change.event.kind === 'run_completed') void announceEnd(change.event.turn_id, view, chat.visible());
    if (change.type === 'event' && change.event.kind === 'approval_resolved') void proposals.close(change.event.approval_id);
    if (change.type === 'ended' && !running(view)) {
      void health.refresh();
      views.refresh();
    }
  };
  const conversation: Conversation = openConversation(remit, changed, randomUUID, openFolders);
  const chat: Chat = provideChat(context.extensionUri, () => conversation, proposals, (text) =>
    remit.command('remit.chat.complete', { text, session_id: conversation.session() }));

  const views = openViews(remit);
  const lenses = openLenses(() => conversation, proposals);

  const ask = async (text: string): Promise<void> => {
    await chat.reveal();
    if (conversation.ask(text, editorContext()) || !running(conversation.view())) return;
    const chosen = await vscode.window.showInformationMessage('Remit is still working on the last request.', 'Stop It');
    if (chosen) conversation.stop();
  };

  const commands: { readonly [id: string]: (...args: never[]) => unknown } = {
    'remit.open': () => chat.reveal(),
    'remit.newChat': async () => { conversation.clear(); await chat.reveal(); },
    'remit.stop': () => conversation.stop(),
    'remit.askAgain': () => ask(conversation.view().turns.at(-1)?.prompt ?? ''),
    'remit.sessions': () => chooseSession(remit, conversation, () => chat.reveal()),
    'remit.undoTurn': () => takeBack(remit, conversation, 'undo'),
    'remit.redoTurn': () => takeBack(remit, conversation, 'redo'),
    'remit.verifyAudit': () => verifyAudit(remit),
    'remit.openLog': () => log.show(),
    'remit.restart': async () => {
      await health.start();
      const { problem } = health.condition();
      if (problem && !chat.visible()) await showProblem(problem);
    },
    'remit.menu': () => showMenu(conversation.view(), health.condition().problem),
    'remit.setServerPath': () => openSetting('remit.serverPath'),
    'remit.setModel': () => openSetting('remit.model'),
    'remit.openPlace': () => openPlace(place(health)),
    [CLIENT_COMMANDS.rename]: (target: { path: string; name: string }) => rename(target, ask),
    [CLIENT_COMMANDS.ask]: (question: { text: string }) => ask(question.text),
  };
  context.subscriptions.push(
    log,
    item,
    views,
    vscode.window.registerWebviewViewProvider('remit.chat', chat),
    vscode.workspace.registerTextDocumentContentProvider(SCHEME, proposals),
    vscode.languages.registerCodeLensProvider({ scheme: 'file' }, lenses),
    remit.onDidChange(health.moved),
    ...mended(health, () => running(conversation.view()) !== null),
    ...Object.entries({ ...commands, ...lenses.commands, ...views.commands }).map(([id, run]) => vscode.commands.registerCommand(id, run)),
  );
  void health.start();
}

export async function deactivate(): Promise<void> {
  await server?.stop();
}

/** What a person has mended is looked at again: a setting, a policy file, a folder that was not open. */
function mended(health: Health, busy: () => boolean): readonly vscode.Disposable[] {
  return [
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration('remit') && !busy()) void health.start();
    }),
    vscode.workspace.onDidSaveTextDocument((document) => {
      if (place(health)?.file === document.uri.fsPath) void health.refresh();
    }),
    vscode.workspace.onDidChangeWorkspaceFolders(() => {
      if (health.condition().problem?.code === 'no_folder') void health.start();
    }),
  ];
}

function place(health: Health): Place | null {
  const { problem } = health.condition();
  return problem && placeOf(problem);
}

function openSetting(name: string): Thenable<unknown> {
  return vscode.commands.executeCommand('workbench.action.openSettings', `@id:${name}`);
}

/** The person cannot see the card, so say that it is there. Allowing needs the card, which shows what would happen. */
async function notify(conversation: Conversation, question: ApprovalRequired): Promise<void> {
  const where = question.session_name === null ? '' : ` (in the session: ${visibleLine(question.session_name)})`;
  const chosen = await vscode.window.showWarningMessage(`Remit asks: ${visibleLine(question.title)}${where}`, 'Review', 'Deny');
  if (chosen === 'Deny') await conversation.answer(question.approval_id, { decision: 'deny', scope: 'once' });
  if (chosen === 'Review') await vscode.commands.executeCommand('remit.open');
}

/** A person who looks elsewhere is told when a long turn has ended. */
async function announceEnd(turnId: string, view: View, chatVisible: boolean): Promise<void> {
  const turn = view.turns.find((each) => each.turn_id === turnId);
  if (!turn || !tookLong(turn) || (chatVisible && vscode.window.state.focused)) return;
  const chosen = await vscode.window.showInformationMessage(`Remit has finished: ${turn.status}`, 'Open Chat');
  if (chosen) await vscode.commands.executeCommand('remit.open');
}

async function verifyAudit(remit: Server): Promise<void> {
  try {
    const { ok, message } = await remit.verifyAudit();
    await (ok ? vscode.window.showInformationMessage(message) : vscode.window.showErrorMessage(message));
  } catch (error) {
    await showProblem(problemOf(error));
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
