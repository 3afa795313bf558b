// Everything in the editor for a change that waits for an answer: lenses, comments, marks, notices and diffs
// (APP-09, EDI-09). Nothing opens by itself, and the keyboard focus stays where it is until the person asks for the review.
import * as vscode from 'vscode';
import type { Conversation } from '../chat/conversation';
import type { Change } from '../chat/reduce';
import { pending, type View } from '../chat/view';
import { openComments } from './comments';
import { openDrawn } from './drawn';
import { openGutter } from './gutter';
import { openLenses } from './lenses';
import { openNotices } from './notices';
import { SCHEME, type Proposals } from './proposals';
import { openReading } from './reading';

export interface Review extends vscode.Disposable {
  /** `seen` says whether the chat with the card is visible to the person. */
  changed(change: Change, view: View, seen: boolean): void;
  readonly commands: { readonly [id: string]: (...args: never[]) => unknown };
}

export function openReview(
  extension: vscode.Uri, conversation: () => Conversation, proposals: Proposals, reveal: () => Promise<void>,
): Review {
  const allow = async (id: string): Promise<void> => {
    const item = pending(conversation().view()).find((each) => each.id === id && each.answer === null);
    if (!item) return;
    const unread = reading.unread(item);
    if (unread === null) return conversation().answer(id, { decision: 'allow', scope: 'once' });
    await proposals.open(item.question, unread);
    void vscode.window.showInformationMessage(vscode.l10n.t('Look at the whole change first: the rest of it was opened as a diff.'));
  };
  const drawn = openDrawn(conversation, allow);
  const reading = openReading(conversation, proposals, () => drawn);
  const lenses = openLenses(conversation, proposals, allow);
  const comments = openComments(conversation, proposals);
  const gutter = openGutter(extension, conversation);
  const notices = openNotices();
  const review = async (): Promise<void> => {
    const item = pending(conversation().view()).find(({ answer }) => answer === null);
    if (!item) return void vscode.window.showInformationMessage(vscode.l10n.t('No question is waiting.'));
    await proposals.openAll(item.question);
    // The answer is given on the card, so the keyboard focus goes there.
    await reveal();
  };
  const registered = [
    vscode.workspace.registerTextDocumentContentProvider(SCHEME, proposals),
    vscode.languages.registerCodeLensProvider({ scheme: 'file' }, lenses),
    comments,
    gutter,
    drawn,
    reading,
  ];
  return {
    commands: { 'remit.review': review, ...lenses.commands, ...comments.commands, ...drawn.commands },
    changed: (change, view, seen) => {
      lenses.changed();
      comments.changed();
      gutter.changed();
      drawn.changed();
      reading.changed();
      notices.changed(view);
      if (change.type !== 'event') return;
      if (change.event.kind === 'approval_required' && !seen) notices.show(change.event);
      if (change.event.kind === 'approval_resolved') void proposals.close(change.event.approval_id);
    },
    dispose: () => { for (const each of registered) each.dispose(); },
  };
}
