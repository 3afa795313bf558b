// Comments on the proposed side of a diff: the person leaves out a hunk with a comment for the model, or denies the whole change (EDI-09).
import * as vscode from 'vscode';
import type { Conversation } from '../chat/conversation';
import { commented, isLeftOut, type Part } from '../chat/parts';
import { findApproval, type ApprovalItem } from '../chat/view';
import { hunksOf } from '../text';
import type { Proposals } from './proposals';

export const COMMENT_COMMANDS = { leaveOut: 'remit.client.commentLeaveOut', deny: 'remit.client.commentDeny' } as const;

interface Kept {
  readonly thread: vscode.CommentThread;
  readonly approvalId: string;
  readonly part: Part;
}

export interface Comments extends vscode.Disposable {
  /** Removes the comments whose hunk is no longer left out, or whose question no longer waits. */
  changed(): void;
  readonly commands: { readonly [id: string]: (reply: vscode.CommentReply) => unknown };
}

export function openComments(conversation: () => Conversation, proposals: Proposals): Comments {
  const controller = vscode.comments.createCommentController('remit.review', 'Remit');
  const kept = new Set<Kept>();
  controller.options = { prompt: vscode.l10n.t('Tell the model'), placeHolder: vscode.l10n.t('Why you do not want this change') };
  controller.commentingRangeProvider = {
    provideCommentingRanges: (document) => {
      const found = shownIn(document.uri);
      return found ? hunksOf(found.diff).map(({ after: { start, end } }) => new vscode.Range(start, 0, Math.max(start, end - 1), 0)) : [];
    },
  };
  const waiting = (id: string): ApprovalItem | null => {
    const item = findApproval(conversation().view(), id);
    return item && item.outcome === null && item.answer === null ? item : null;
  };
  const shownIn = (uri: vscode.Uri): { readonly item: ApprovalItem; readonly path: string; readonly diff: string } | null => {
    const place = proposals.proposed(uri);
    const item = place && waiting(place.approvalId);
    const diff = item?.question.diffs.find((each) => each.path === place?.path);
    return item && diff ? { item, path: diff.path, diff: diff.diff } : null;
  };
  const leaveOut = ({ thread, text }: vscode.CommentReply): void => {
    const found = shownIn(thread.uri);
    const line = thread.range?.start.line ?? 0;
    const hunk = found ? hunksOf(found.diff).findIndex(({ after }) => line >= after.start && line < Math.max(after.end, after.start + 1)) : -1;
    if (!found || hunk < 0) return thread.dispose();
    if (!found.item.question.by_hunk) {
      return void vscode.window.showInformationMessage(vscode.l10n.t('You can only allow or deny this change as a whole. Deny it to send your comment.'));
    }
    const part = { path: found.path, hunk };
    conversation().leaveOut(found.item.id, commented(found.item.left_out, part, text));
    draw(thread, text);
    kept.add({ thread, approvalId: found.item.id, part });
  };
  const deny = async ({ thread, text }: vscode.CommentReply): Promise<void> => {
    const found = shownIn(thread.uri);
    thread.dispose();
    if (found) await conversation().answer(found.item.id, { decision: 'deny', scope: 'once', comment: text.trim() || null });
  };
  return {
    commands: { [COMMENT_COMMANDS.leaveOut]: leaveOut, [COMMENT_COMMANDS.deny]: deny },
    changed: () => {
      for (const each of kept) {
        const item = waiting(each.approvalId);
        if (item && isLeftOut(item.left_out, each.part)) continue;
        each.thread.dispose();
        kept.delete(each);
      }
    },
    dispose: () => controller.dispose(),
  };
}

function draw(thread: vscode.CommentThread, text: string): void {
  thread.label = vscode.l10n.t('Left out; the model is told why');
  thread.canReply = false;
  thread.collapsibleState = vscode.CommentThreadCollapsibleState.Expanded;
  // The person's comment is shown exactly as typed, not as Markdown.
  const body = new vscode.MarkdownString().appendText(text);
  thread.comments = [{ body, mode: vscode.CommentMode.Preview, author: { name: vscode.l10n.t('You') } }];
}
