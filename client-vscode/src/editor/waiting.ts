// The changes of a file that wait for an answer.
import * as vscode from 'vscode';
import type { Conversation } from '../chat/conversation';
import { pending, type ApprovalItem } from '../chat/view';
import type { FileDiff } from '../contract';

export interface Waiting {
  readonly item: ApprovalItem;
  readonly diff: FileDiff;
}

/** The changes of this document that the person was asked about and has not answered. */
export function waitingIn(document: vscode.TextDocument, conversation: Conversation): readonly Waiting[] {
  const root = vscode.workspace.getWorkspaceFolder(document.uri);
  if (!root) return [];
  const turns = conversation.view().turns.filter((turn) => turn.workspace === root.uri.fsPath);
  return turns.flatMap((turn) => pending({ turns: [turn] }))
    .filter((item) => item.answer === null)
    .flatMap((item) => item.question.diffs
      .filter((diff) => vscode.Uri.joinPath(root.uri, diff.path).toString() === document.uri.toString())
      .map((diff) => ({ item, diff })));
}
