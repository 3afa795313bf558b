// The chat view: sends changes to the webview and handles what the person does there. Draws and decides nothing itself.
import { randomBytes } from 'node:crypto';
import * as vscode from 'vscode';
import type { ChatProposal } from '../contract';
import type { Proposals } from '../editor/proposals';
import { watchSamples } from '../editor/samples';
import { editorContext, openWorkspaceFile } from '../editor/workspace';
import { showProblem } from '../editor/status';
import { problemOf, REMEDIES } from '../problem';
import type { Conversation } from './conversation';
import { keepDraft } from './draft';
import { openLink } from './link';
import { parseMessage, type FromWebview, type ServerView, type ToWebview } from './messages';
import { attachDropped, pickAttachment, pickMode, pickModel, type ListedModel } from './pickers';
import type { Change } from './reduce';
import { findApproval, isAboutRunning, running } from './view';

export interface Chat extends vscode.WebviewViewProvider, vscode.Disposable {
  show(change: Change): void;
  showServer(server: ServerView): void;
  reveal(): Promise<void>;
  readonly visible: () => boolean;
}

/** The requests of the chat to the server that belong to no turn. */
export interface Known {
  readonly complete: (text: string) => Promise<readonly ChatProposal[]>;
  readonly models: () => Promise<readonly ListedModel[]>;
}

export function provideChat(extension: vscode.Uri, conversation: () => Conversation, proposals: Proposals, known: Known, memory: vscode.Memento): Chat {
  let current: vscode.WebviewView | null = null;
  let server: ServerView = { state: 'starting', model: null, standing: null, editsAllowed: false, problem: null };
  const drafts = keepDraft(memory);
  const samples = watchSamples((now) => post({ type: 'samples', samples: now }));
  const post = (message: ToWebview): void => void current?.webview.postMessage(message);
  const link = openLink({
    post,
    view: () => conversation().view(),
    inSight: () => current?.visible ?? false,
    reload: () => { if (current) current.webview.html = page(current.webview, extension); },
    later: (milliseconds, run) => {
      const timer = setTimeout(run, milliseconds);
      return () => clearTimeout(timer);
    },
  });

  const fork = async (turnId: string, askAgain: boolean): Promise<void> => {
    const prompt = conversation().view().turns.find((turn) => turn.turn_id === turnId)?.prompt;
    if (prompt === undefined || running(conversation().view())) return;
    await conversation().fork(turnId, !askAgain);
    if (askAgain) post({ type: 'fill', text: prompt });
  };

  const chooseModel = async (): Promise<void> => {
    const reference = await pickModel(await known.models(), conversation().view().model ?? server.model);
    if (reference !== null) conversation().ask(`/model ${reference}`, editorContext());
  };

  // The mode is switched by a chat command, which is judged and recorded like any other call, so that a refusal is explained in the chat.
  const chooseMode = async (): Promise<void> => {
    const mode = await pickMode((conversation().view().standing ?? server.standing)?.mode ?? null);
    if (mode !== null) conversation().ask(`/${mode}`, editorContext());
  };

  const take = async (message: FromWebview): Promise<void> => {
    const chat = conversation();
    switch (message.type) {
      case 'ready':
        link.redraw();
        post({ type: 'server', server });
        post({ type: 'samples', samples: await samples.now() });
        return post({ type: 'restored', draft: drafts.get() });
      case 'missed':
        return link.redraw();
      case 'draft':
        return drafts.keep(message.draft);
      case 'seen':
        return link.seen(message.next, message.drawn);
      case 'ask':
        if (running(chat.view()) && isAboutRunning(message.text)) return void vscode.commands.executeCommand('remit.sendToBackground');
        return void chat.ask(message.text, editorContext(), message.attachments);
      case 'pick_attachment':
        return post({ type: 'attach', attachments: await pickAttachment() });
      case 'dropped':
        return post({ type: 'attach', attachments: await attachDropped(message.uris) });
      case 'pick_model':
        return chooseModel();
      case 'pick_mode':
        return chooseMode();
      case 'fork':
        return fork(message.turn_id, message.ask_again);
      case 'complete':
        // If the server does not answer, propose nothing.
        return post({ type: 'proposals', text: message.text, proposals: await known.complete(message.text).catch(() => []) });
      case 'stop':
        return chat.stop();
      case 'undo':
        return void vscode.commands.executeCommand('remit.undoTurn');
      case 'redo':
        return void vscode.commands.executeCommand('remit.redoTurn');
      case 'answer':
        return chat.answer(message.approval_id, message.choice);
      case 'leave_out':
        return chat.leaveOut(message.approval_id, message.left_out);
      case 'open_diff': {
        const item = findApproval(chat.view(), message.approval_id);
        return item ? proposals.open(item.question, message.index) : undefined;
      }
      case 'open_file':
        return openWorkspaceFile(chat.view().turns.find((turn) => turn.turn_id === message.turn_id)?.workspace ?? null, message.place);
      case 'mend':
        return void vscode.commands.executeCommand(REMEDIES[message.remedy].command);
    }
  };

  return {
    resolveWebviewView: (view) => {
      current = view;
      view.webview.options = { enableScripts: true, localResourceRoots: [vscode.Uri.joinPath(extension, 'out')] };
      view.webview.onDidReceiveMessage((value: unknown) => {
        const message = parseMessage(value);
        if (message) void take(message).catch((error: unknown) => showProblem(problemOf(error)));
      });
      view.onDidDispose(() => { current = null; link.close(); });
      view.webview.html = page(view.webview, extension);
    },
    show: (change) => { if (current) link.send(change); },
    showServer: (now) => {
      server = now;
      post({ type: 'server', server });
    },
    reveal: async () => {
      await vscode.commands.executeCommand('remit.chat.focus');
      post({ type: 'focus' });
    },
    visible: () => current?.visible ?? false,
    dispose: () => samples.dispose(),
  };
}

function page(webview: vscode.Webview, extension: vscode.Uri): string {
  const nonce = randomBytes(16).toString('base64url');
  const out = (name: string): string => webview.asWebviewUri(vscode.Uri.joinPath(extension, 'out', name)).toString();
  const policy = [
    "default-src 'none'",
    `style-src ${webview.cspSource}`,
    `font-src ${webview.cspSource}`,
    `script-src 'nonce-${nonce}'`,
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ');
  return `<!DOCTYPE html>
<html lang="${vscode.env.language}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="${out('chat-style.css')}">
<title>Remit chat</title>
</head>
<body>
<script type="application/json" id="words">${JSON.stringify(vscode.l10n.bundle ?? {}).replaceAll('<', '\\u003c')}</script>
<div id="chat"></div>
<script nonce="${nonce}" src="${out('chat.js')}"></script>
</body>
</html>`;
}
