// Draws the proposed lines in the file itself: lines to remove are coloured, lines to add are in a box below them with the answer buttons
// (EDI-13). The box is a comment, because VS Code lets an extension draw several lines between two others in no other way.
import * as vscode from 'vscode';
import type { Conversation } from '../chat/conversation';
import { commented, isLeftOut, toggled, type Part } from '../chat/parts';
import { findApproval, type ApprovalItem } from '../chat/view';
import { added, hunksOf, removed, type Hunk } from '../text';
import { waitingIn } from './waiting';

/** The buttons of a box. A command of its title gets the thread; a command of its input line gets the thread and the typed text. */
export const DRAWN_COMMANDS = {
  allow: 'remit.client.drawnAllow', toggle: 'remit.client.drawnLeaveOut', deny: 'remit.client.drawnDeny',
  leaveOutBecause: 'remit.client.drawnLeaveOutBecause', denyBecause: 'remit.client.drawnDenyBecause',
} as const;

/** The most lines that a box shows. A longer hunk must be read as a diff. */
export const MOST_LINES = 40;

interface Box {
  readonly thread: vscode.CommentThread;
  readonly approvalId: string;
  readonly part: Part;
}

export interface Drawn extends vscode.Disposable {
  /** Draws the changes that wait now, after the questions have changed. */
  changed(): void;
  /** Whether this file has a box for this hunk. */
  readonly shows: (uri: vscode.Uri, approvalId: string, hunk: number) => boolean;
  readonly commands: { readonly [id: string]: (...args: never[]) => unknown };
}

export function openDrawn(conversation: () => Conversation, allow: (id: string) => unknown): Drawn {
  const controller = vscode.comments.createCommentController('remit.proposed', 'Remit');
  controller.options = { prompt: vscode.l10n.t('Tell the model'), placeHolder: vscode.l10n.t('Why you do not want this change') };
  const going = vscode.window.createTextEditorDecorationType({
    isWholeLine: true, backgroundColor: new vscode.ThemeColor('diffEditor.removedLineBackground'),
  });
  const boxes = new Map<string, Box>();
  const boxOf = (thread: vscode.CommentThread): Box | undefined => [...boxes.values()].find((each) => each.thread === thread);
  const waiting = (thread: vscode.CommentThread): { readonly item: ApprovalItem; readonly part: Part } | null => {
    const box = boxOf(thread);
    const item = box && findApproval(conversation().view(), box.approvalId);
    return box && item && item.outcome === null && item.answer === null ? { item, part: box.part } : null;
  };
  const draw = (editor: vscode.TextEditor, wanted: Set<string>): void => {
    const { document } = editor;
    const hunks = waitingIn(document, conversation()).flatMap(({ item, diff }) => {
      const all = hunksOf(diff.diff);
      return all.map((hunk, number) => ({ item, hunk, number, total: all.length, part: { path: diff.path, hunk: number } }));
    });
    editor.setDecorations(going, hunks.filter(({ item, part }) => !isLeftOut(item.left_out, part)).flatMap(({ hunk }) => goneIn(hunk)));
    for (const { item, hunk, number, total, part } of hunks) {
      const left = item.left_out.find((each) => isLeftOut([each], part));
      const key = keyOf(document.uri, item.id, number);
      wanted.add(key);
      const box = boxes.get(key) ?? { thread: newThread(controller, document, hunk), approvalId: item.id, part };
      boxes.set(key, box);
      label(box.thread, hunk, `${number + 1} of ${total}`, left ?? null, item.question.by_hunk);
    }
  };
  const changed = (): void => {
    const wanted = new Set<string>();
    for (const editor of vscode.window.visibleTextEditors) {
      if (editor.document.uri.scheme === 'file') draw(editor, wanted);
    }
    for (const [key, { thread }] of boxes) {
      if (wanted.has(key)) continue;
      thread.dispose();
      boxes.delete(key);
    }
  };
  const deny = (thread: vscode.CommentThread, comment: string | null): unknown => {
    const found = waiting(thread);
    return found ? conversation().answer(found.item.id, { decision: 'deny', scope: 'once', comment }) : undefined;
  };
  const shown = vscode.window.onDidChangeVisibleTextEditors(changed);
  return {
    changed,
    shows: (uri, approvalId, hunk) => boxes.has(keyOf(uri, approvalId, hunk)),
    commands: {
      [DRAWN_COMMANDS.allow]: (thread: vscode.CommentThread) => {
        const found = waiting(thread);
        return found ? allow(found.item.id) : undefined;
      },
      [DRAWN_COMMANDS.toggle]: (thread: vscode.CommentThread) => {
        const found = waiting(thread);
        if (found) conversation().leaveOut(found.item.id, toggled(found.item.left_out, found.part));
      },
      [DRAWN_COMMANDS.deny]: (thread: vscode.CommentThread) => deny(thread, null),
      [DRAWN_COMMANDS.leaveOutBecause]: ({ thread, text }: vscode.CommentReply) => {
        const found = waiting(thread);
        if (found) conversation().leaveOut(found.item.id, commented(found.item.left_out, found.part, text));
      },
      [DRAWN_COMMANDS.denyBecause]: ({ thread, text }: vscode.CommentReply) => deny(thread, text.trim() || null),
    },
    dispose: () => { shown.dispose(); going.dispose(); controller.dispose(); },
  };
}

/** The line below which a hunk's box is drawn: the last removed line, or if none is removed the line before the added ones. */
export function lineAbove(hunk: Hunk): number {
  return goneIn(hunk).at(-1)?.start.line ?? Math.max(0, hunk.line - 1);
}

function newThread(controller: vscode.CommentController, document: vscode.TextDocument, hunk: Hunk): vscode.CommentThread {
  const line = lineAbove(hunk);
  const body = new vscode.MarkdownString();
  const lines = hunk.lines.filter(({ kind }) => kind === 'add').map(({ text }) => text);
  if (lines.length > 0) body.appendCodeblock(lines.slice(0, MOST_LINES).join('\n'), document.languageId);
  if (lines.length === 0) body.appendText(vscode.l10n.t('These lines would be removed.'));
  if (lines.length > MOST_LINES) body.appendText(vscode.l10n.t('{0} more lines: open the diff', lines.length - MOST_LINES));
  const thread = controller.createCommentThread(document.uri, new vscode.Range(line, 0, line, 0), [
    { body, mode: vscode.CommentMode.Preview, author: { name: 'Remit' } },
  ]);
  thread.collapsibleState = vscode.CommentThreadCollapsibleState.Expanded;
  return thread;
}

function label(thread: vscode.CommentThread, hunk: Hunk, place: string, left: { readonly comment?: string | null } | null, byHunk: boolean): void {
  const size = `+${added(hunk.lines)} −${removed(hunk.lines)}`;
  const why = left?.comment ? `: ${left.comment}` : '';
  thread.label = left === null ? vscode.l10n.t('Proposed {0} ({1})', size, place) : vscode.l10n.t('Left out ({0}){1}', place, why);
  thread.contextValue = !byHunk ? 'whole' : left === null ? 'taken' : 'leftOut';
  thread.canReply = left === null;
}

function goneIn({ lines }: Hunk): readonly vscode.Range[] {
  return lines.flatMap(({ kind, before }) => (kind === 'remove' && before !== null ? [new vscode.Range(before - 1, 0, before - 1, 0)] : []));
}

function keyOf(uri: vscode.Uri, approvalId: string, hunk: number): string {
  return `${approvalId} ${hunk} ${uri.toString()}`;
}
