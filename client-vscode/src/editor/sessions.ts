// The list of a folder's sessions, and the actions on a session (SES-04, SES-05).
import * as vscode from 'vscode';
import type { Conversation } from '../chat/conversation';
import { count, running } from '../chat/view';
import type { SessionSummary } from '../contract';
import { problemOf, sentence } from '../problem';
import type { Server } from '../server/client';
import { visibleLine } from '../text';
import { showProblem } from './status';

interface SessionItem extends vscode.QuickPickItem {
  readonly session: SessionSummary;
}

interface Action extends vscode.QuickInputButton {
  readonly run: (server: Server, session: SessionSummary) => Promise<void>;
}

const ACTIONS: readonly Action[] = [
  { tooltip: 'Rename', iconPath: new vscode.ThemeIcon('edit'), run: rename },
  { tooltip: 'Fork', iconPath: new vscode.ThemeIcon('repo-forked'), run: fork },
  { tooltip: 'Export as Markdown', iconPath: new vscode.ThemeIcon('export'), run: exportSession },
  { tooltip: 'Delete', iconPath: new vscode.ThemeIcon('trash'), run: remove },
];

/** Lists the sessions. The chosen one is shown in the chat, which continues it. */
export async function chooseSession(server: Server, conversation: Conversation, reveal: () => Promise<void>): Promise<void> {
  const pick = vscode.window.createQuickPick<SessionItem>();
  pick.title = 'Sessions of This Folder';
  pick.placeholder = 'Choose a session to continue';
  pick.matchOnDescription = pick.matchOnDetail = true;
  const refresh = (): Promise<void> => guarded(async () => {
    pick.busy = true;
    const sessions = await server.command<readonly SessionSummary[]>('remit.session.list');
    pick.items = sessions.map((session) => item(session, conversation.session()));
    pick.busy = false;
    if (sessions.length === 0) pick.placeholder = 'This folder has no sessions yet';
  });
  pick.onDidTriggerItemButton(({ button, item: { session } }) =>
    void guarded(() => (button as Action).run(server, session)).then(refresh));
  pick.onDidAccept(() => {
    const chosen = pick.selectedItems[0];
    pick.hide();
    if (chosen) void guarded(async () => { await conversation.resume(chosen.session.session_id); await reveal(); });
  });
  pick.onDidHide(() => pick.dispose());
  pick.show();
  await refresh();
}

function item(session: SessionSummary, current: string): SessionItem {
  const title = visibleLine(session.name ?? session.title) || 'Untitled';
  return {
    session,
    label: session.session_id === current ? `$(comment-discussion) ${title}` : title,
    description: `${new Date(session.last_used).toLocaleString()} · ${count(session.turns, 'turn')}`,
    ...(session.name ? { detail: visibleLine(session.title) } : {}),
    buttons: ACTIONS,
  };
}

/** Moves the running command to the background, and shows the server's answer. */
export async function sendToBackground(server: Server, conversation: Conversation): Promise<void> {
  await guarded(async () => {
    const { text } = await server.read('/background', conversation.session());
    void vscode.window.showInformationMessage(visibleLine(text.replaceAll('`', '')));
  });
}

/** Undoes the chat's last changes, or redoes them; shows what was left undone, and the chat as it is afterwards. */
export async function takeBack(server: Server, conversation: Conversation, direction: 'undo' | 'redo'): Promise<void> {
  if (running(conversation.view())) {
    await vscode.window.showInformationMessage('Remit is still working on the last request.');
    return;
  }
  const session = conversation.session();
  if (conversation.view().turns.length === 0) {
    await vscode.window.showInformationMessage(`There is nothing to ${direction} in this chat. "Remit: Sessions" lists the earlier ones.`);
    return;
  }
  await guarded(async () => {
    const done = await server.command<{
      readonly status: string; readonly message: string; readonly left: readonly string[];
    }>(`remit.${direction}`, { session });
    await conversation.resume(session);
    const message = sentence(visibleLine(done.message));
    if (done.status !== 'completed' || done.left.length > 0) void vscode.window.showWarningMessage(message);
    else void vscode.window.showInformationMessage(message);
  });
}

async function rename(server: Server, { session_id: session, name, title }: SessionSummary): Promise<void> {
  const wanted = await vscode.window.showInputBox({ title: 'Rename the Session', value: name ?? title });
  if (wanted !== undefined) await server.command('remit.session.rename', { session, name: wanted });
}

async function fork(server: Server, { session_id: session }: SessionSummary): Promise<void> {
  await server.command('remit.session.fork', { session });
}

async function exportSession(server: Server, { session_id: session }: SessionSummary): Promise<void> {
  const { text } = await server.command<{ readonly text: string }>('remit.session.export', { session });
  await vscode.window.showTextDocument(await vscode.workspace.openTextDocument({ language: 'markdown', content: text }));
}

async function remove(server: Server, { session_id: session, name, title }: SessionSummary): Promise<void> {
  const what = `Delete the session "${visibleLine(name ?? title)}"? What it did stays in the audit log.`;
  const chosen = await vscode.window.showWarningMessage(what, { modal: true }, 'Delete');
  if (chosen) await server.command('remit.session.delete', { session });
}

async function guarded(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    await showProblem(problemOf(error));
  }
}
