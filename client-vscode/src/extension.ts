// Activation and the command table: this file names everything that the extension adds to VS Code.
import { randomUUID } from 'node:crypto';
import * as vscode from 'vscode';
import { openConversation, type Conversation } from './chat/conversation';
import { provideChat, type Chat } from './chat/provider';
import type { Change } from './chat/reduce';
import { running, tookLong, type Standing, type View } from './chat/view';
import type { StatusResult } from './contract';
import { openEditHere, type Lines } from './editor/here';
import { openInstalling } from './editor/installing';
import { openPolicyPreview, POLICY_FILES } from './editor/policy_preview';
import { openProposals } from './editor/proposals';
import { openReview } from './editor/review';
import { chooseSession, sendToBackground, takeBack } from './editor/sessions';
import { connectModel } from './editor/models';
import { draw, showMenu, showProblem, statusItem, statusText } from './editor/status';
import { setContexts, trySample } from './editor/started';
import { openViews } from './editor/views';
import { editorContext, openFolders, openPlace } from './editor/workspace';
import { offerModel } from './native/model';
import { offerParticipant } from './native/participant';
import { offerTools } from './native/tools';
import { placeOf, problemOf, type Place } from './problem';
import { CLIENT_COMMANDS, openServer, type Server } from './server/client';
import { watchHealth, type Health } from './server/health';

/** The key under which a folder's last session is remembered: only the session's id, because the server keeps the session. */
const LAST_SESSION = 'session';
/** The key under which a profile remembers that the first steps were shown. */
const FIRST_STEPS = 'firstSteps';
const REMEMBERED: readonly Change['type'][] = ['asked', 'loaded', 'cleared', 'ended'];

let server: Server | null = null;

export function activate(context: vscode.ExtensionContext): void {
  const log = vscode.window.createOutputChannel('Remit', { log: true });
  const remit = openServer(context, log);
  server = remit;
  const item = statusItem();
  const proposals = openProposals();

  const redraw = (): void => {
    draw(item, statusText(health.condition(), conversation.view()));
    setContexts(health.condition().state, conversation.view());
  };
  const moved = new vscode.EventEmitter<void>();
  let shown: string | null = null;
  let outdated = false;
  let remembered = context.workspaceState.get<string>(LAST_SESSION);
  const health = watchHealth({ ...remit, status: () => remit.status(conversation.session()) }, ({ state, status, problem }) => {
    chat.showServer({ state, model: status?.model ?? null, standing: standingOf(status), editsAllowed: status?.edits === 'allow', problem });
    redraw();
    // After a reload of the window or an update, the chat continues its last session (EDI-05).
    if (state === 'ready' && remembered !== undefined) void conversation.restore(remembered);
    if (state === 'ready') remembered = undefined;
    if (state === shown) return;
    views.refresh();
    moved.fire();
    const running = remit.version();
    if (running !== null) void installing.compare(running);
    shown = state;
  });
  const installing = openInstalling(context, log, health.start);
  const changed = (change: Change, view: View): void => {
    chat.show(change);
    changes.fire([change, view]);
    // Another session has another workflow standing, and a command or an answer may have changed whether edits are asked about.
    if (['cleared', 'loaded', 'told'].includes(change.type) || allowsEdits(change)) void health.refresh();
    if (REMEMBERED.includes(change.type)) {
      void context.workspaceState.update(LAST_SESSION, view.turns.length > 0 ? conversation.session() : undefined);
    }
    // The model's text changes only the two chats, so nothing else has to be drawn again.
    if (change.type === 'event' && (change.event.kind === 'token_delta' || change.event.kind === 'thinking_delta')) return;
    redraw();
    review.changed(change, view, chat.visible());
    here.changed(view);
    if (change.type === 'event' && change.event.kind === 'run_completed') void announceEnd(change.event.turn_id, view, chat.visible());
    if (change.type === 'ended' && !running(view)) {
      // A setting that was changed while a turn ran takes effect now.
      void (outdated ? health.start() : health.refresh());
      outdated = false;
      views.refresh();
    }
  };
  const changes = new vscode.EventEmitter<readonly [Change, View]>();
  const conversation: Conversation = openConversation(remit, changed, randomUUID, openFolders);
  const chat: Chat = provideChat(context.extensionUri, () => conversation, proposals, {
    complete: (text) => remit.command('remit.chat.complete', { text, session_id: conversation.session() }),
    models: () => remit.command('remit.model.list'),
  }, context.workspaceState);

  const here = openEditHere(() => conversation, () => chat.visible());
  const views = openViews(remit);
  const review = openReview(context.extensionUri, () => conversation, proposals, () => chat.reveal());
  const preview = openPolicyPreview(remit);

  const ask = async (text: string): Promise<void> => {
    await chat.reveal();
    if (conversation.ask(text, editorContext()) || !running(conversation.view())) return;
    const chosen = await vscode.window.showInformationMessage('Remit is still working on the last request.', 'Stop It');
    if (chosen) conversation.stop();
  };

  const settingsChanged = (): void => {
    outdated = running(conversation.view()) !== null;
    if (!outdated) void health.start();
  };

  const commands: { readonly [id: string]: (...args: never[]) => unknown } = {
    'remit.open': () => chat.reveal(),
    'remit.newChat': async () => { conversation.clear(); await chat.reveal(); },
    'remit.stop': () => conversation.stop(),
    'remit.sendToBackground': () => sendToBackground(remit, conversation),
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
    'remit.installServer': () => installing.install(),
    'remit.walkthrough': () => vscode.commands.executeCommand('workbench.action.openWalkthrough', `${context.extension.id}#start`, false),
    'remit.trySample': () => trySample(ask),
    'remit.previewPolicy': (uri?: string) => preview.show(uri),
    'remit.editHere': () => here.start(),
    'remit.toggleInlineCompletion': () => toggleCompletion(),
    'remit.menu': () => showMenu(conversation.view(), health.condition()),
    'remit.client.askBeforeEdits': () => ask('/edits each'),
    'remit.setServerPath': () => openSetting('remit.serverPath'),
    'remit.setModel': () => connectModel(remit, () => { void health.refresh(); }),
    'remit.openSettings': () => openSetting('@ext:' + context.extension.id),
    'remit.openPlace': () => openPlace(place(health)),
    [CLIENT_COMMANDS.rename]: (target: { path: string; name: string }) => rename(target, ask),
    [CLIENT_COMMANDS.edit]: (lines: Lines) => here.start(lines),
    [CLIENT_COMMANDS.ask]: (question: { text: string }) => ask(question.text),
  };
  context.subscriptions.push(
    log,
    item,
    views,
    chat,
    vscode.window.registerWebviewViewProvider('remit.chat', chat),
    review,
    preview,
    changes,
    moved,
    vscode.languages.registerCodeLensProvider(POLICY_FILES, preview),
    offerParticipant(context.extensionUri, () => conversation, changes.event),
    offerModel(remit, () => health.condition().status, moved.event),
    ...offerTools(context.extension.packageJSON, () => conversation, changes.event),
    remit.onDidChange(health.moved),
    ...mended(health, settingsChanged),
    ...Object.entries({ ...commands, ...review.commands, ...views.commands }).map(([id, run]) => vscode.commands.registerCommand(id, run)),
  );
  void openFirstSteps(context);
  void health.start();
}

function allowsEdits(change: Change): boolean {
  return change.type === 'event' && change.event.kind === 'approval_resolved' && change.event.scope === 'edits';
}

export async function deactivate(): Promise<void> {
  await server?.stop();
}

/** Checks the server again after the person may have fixed a problem: a setting, a policy file, or a folder that was not open. */
function mended(health: Health, settingsChanged: () => void): readonly vscode.Disposable[] {
  return [
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration('remit')) settingsChanged();
    }),
    vscode.workspace.onDidSaveTextDocument((document) => {
      if (place(health)?.file === document.uri.fsPath) void health.refresh();
    }),
    vscode.workspace.onDidChangeWorkspaceFolders(() => {
      if (health.condition().problem?.code === 'no_folder') void health.start();
    }),
  ];
}

/** Opens the first steps once in a new profile, unless the person's `workbench.startupEditor` is `none` (EDI-10). */
async function openFirstSteps(context: vscode.ExtensionContext): Promise<void> {
  if (context.globalState.get(FIRST_STEPS, false)) return;
  await context.globalState.update(FIRST_STEPS, true);
  if (vscode.workspace.getConfiguration('workbench').get('startupEditor') === 'none') return;
  await vscode.commands.executeCommand('remit.walkthrough');
}

function standingOf(status: StatusResult | null): Standing | null {
  const { mode, state, state_means: means } = status ?? {};
  return mode && state && means ? { mode, state, means } : null;
}

function place(health: Health): Place | null {
  const { problem } = health.condition();
  return problem && placeOf(problem);
}

async function toggleCompletion(): Promise<void> {
  const on = !vscode.workspace.getConfiguration('remit').get('inlineCompletion', false);
  await vscode.workspace.getConfiguration('remit').update('inlineCompletion', on, vscode.ConfigurationTarget.Global);
  vscode.window.setStatusBarMessage(`Remit: completion at the cursor is ${on ? 'on' : 'off'}`, 5_000);
}

function openSetting(name: string): Thenable<unknown> {
  return vscode.commands.executeCommand('workbench.action.openSettings', `@id:${name}`);
}

/** Tells a person who does not look at the chat that a long turn has ended. */
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
