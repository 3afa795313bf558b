// The chat view: hands changes to the webview, takes what the person does there. Draws and decides nothing itself.
import { randomBytes } from 'node:crypto';
import * as vscode from 'vscode';
import type { ChatProposal } from '../contract';
import type { Proposals } from '../editor/proposals';
import { editorContext, openWorkspaceFile } from '../editor/workspace';
import { REMEDIES } from '../problem';
import type { Conversation } from './conversation';
import { parseMessage, type FromWebview, type ServerView, type ToWebview } from './messages';
import { findApproval, type Change } from './view';

export interface Chat extends vscode.WebviewViewProvider {
  show(change: Change): void;
  showServer(server: ServerView): void;
  reveal(): Promise<void>;
  readonly visible: () => boolean;
}

export function provideChat(
  extension: vscode.Uri, conversation: () => Conversation, proposals: Proposals,
  complete: (text: string) => Promise<readonly ChatProposal[]>,
): Chat {
  let current: vscode.WebviewView | null = null;
  let server: ServerView = { state: 'starting', model: null, problem: null };
  const post = (message: ToWebview): void => void current?.webview.postMessage(message);

  const take = async (message: FromWebview): Promise<void> => {
    const chat = conversation();
    switch (message.type) {
      case 'ready':
        post({ type: 'view', view: chat.view() });
        return post({ type: 'server', server });
      case 'ask':
        return void chat.ask(message.text, editorContext());
      case 'complete':
        // Where the server cannot say, nothing is proposed.
        return post({ type: 'proposals', text: message.text, proposals: await complete(message.text).catch(() => []) });
      case 'stop':
        return chat.stop();
      case 'answer':
        return chat.answer(message.approval_id, message.choice);
      case 'leave_out':
        return chat.leaveOut(message.approval_id, message.left_out);
      case 'open_diff': {
        const item = findApproval(chat.view(), message.approval_id);
        return item ? proposals.open(item.question, message.index) : undefined;
      }
      case 'open_file':
        return openWorkspaceFile(chat.view().turns.find((turn) => turn.turn_id === message.turn_id)?.workspace ?? null, message.path);
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
        if (message) void take(message);
      });
      view.onDidDispose(() => { current = null; });
      view.webview.html = page(view.webview, extension);
    },
    show: (change) => post({ type: 'change', change }),
    showServer: (now) => {
      server = now;
      post({ type: 'server', server });
    },
    reveal: async () => {
      await vscode.commands.executeCommand('remit.chat.focus');
      post({ type: 'focus' });
    },
    visible: () => current?.visible ?? false,
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
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="${out('chat-style.css')}">
<title>Remit chat</title>
</head>
<body>
<div id="chat"></div>
<script nonce="${nonce}" src="${out('chat.js')}"></script>
</body>
</html>`;
}
