// `@remit` in VS Code's own chat. It is the same conversation as in Remit's view, so a question is answered in one place (EDI-11).
import * as vscode from 'vscode';
import type { Conversation } from '../chat/conversation';
import { YES } from '../chat/messages';
import type { Change } from '../chat/reduce';
import type { View } from '../chat/view';
import { editorContext } from '../editor/workspace';
import { piecesOf } from './mirror';

export type Changes = vscode.Event<readonly [change: Change, view: View]>;

/** Registers the participant if VS Code has a chat. */
export function offerParticipant(extension: vscode.Uri, conversation: () => Conversation, changes: Changes): vscode.Disposable {
  if (typeof vscode.chat?.createChatParticipant !== 'function') return new vscode.Disposable(() => undefined);
  const participant = vscode.chat.createChatParticipant('remit.participant', async (request, _context, stream, token) => {
    const chat = conversation();
    const mentions = request.references.map(({ value }) => mentionOf(value)).filter(Boolean);
    if (!chat.ask([request.prompt, ...mentions].join(' '), editorContext())) {
      stream.markdown(vscode.l10n.t('Remit is still working on the last request.'));
      stream.button({ command: 'remit.open', title: vscode.l10n.t('Open Chat') });
      return;
    }
    const turnId = chat.view().turns.at(-1)!.turn_id;
    await follow(chat, turnId, changes, stream, token);
    return { metadata: { suggestion: chat.view().turns.find((turn) => turn.turn_id === turnId)?.suggestion ?? null } };
  });
  participant.followupProvider = {
    provideFollowups: ({ metadata }) => (metadata?.['suggestion'] ? [{ prompt: YES, label: vscode.l10n.t('Yes') }] : []),
  };
  participant.iconPath = vscode.Uri.joinPath(extension, 'media', 'icon.png');
  return participant;
}

/** Copies what the turn says to the stream until the turn has ended. */
function follow(
  chat: Conversation, turnId: string, changes: Changes, stream: vscode.ChatResponseStream, token: vscode.CancellationToken,
): Promise<void> {
  return new Promise((resolve) => {
    const watched = changes(([change, view]) => {
      for (const piece of piecesOf(turnId, change, view)) {
        if (piece.kind === 'progress') stream.progress(piece.text);
        else if (piece.text) stream.markdown(piece.text);
        if (piece.kind === 'question') stream.button({ command: 'remit.review', title: vscode.l10n.t('Review') });
        if (piece.kind !== 'end') continue;
        watched.dispose();
        stopped.dispose();
        resolve();
      }
    });
    const stopped = token.onCancellationRequested(() => chat.stop());
  });
}

/** Writes a file that the person added as the `@path` that Remit's chat understands. */
function mentionOf(value: unknown): string {
  const uri = value instanceof vscode.Uri ? value : value instanceof vscode.Location ? value.uri : null;
  const folder = uri && vscode.workspace.getWorkspaceFolder(uri);
  return uri && folder ? `@${vscode.workspace.asRelativePath(uri, false)}` : '';
}
