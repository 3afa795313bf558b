// A notice about a question whose card is not visible. It closes once the question is answered anywhere (EDI-09). It is a progress
// message with links as buttons, because VS Code lets an extension close no other kind of message.
import * as vscode from 'vscode';
import { pending, type View } from '../chat/view';
import type { ApprovalRequired } from '../contract';
import { noticeLine } from '../text';
import { LENS_COMMANDS } from './lenses';

export interface Notices {
  show(question: ApprovalRequired): void;
  /** Closes the notices of questions that no longer wait. */
  changed(view: View): void;
}

export function openNotices(): Notices {
  const open = new Map<string, () => void>();
  return {
    show: (question) => {
      const { approval_id: id, session_name: session } = question;
      const where = session === null ? '' : vscode.l10n.t(' (in the session: {0})', noticeLine(session));
      const title = vscode.l10n.t('Remit asks: {0}{1}', noticeLine(question.title), where);
      // There is no Allow here, because allowing needs the card, which shows what would happen.
      const deny = `command:${LENS_COMMANDS.deny}?${encodeURIComponent(JSON.stringify([id]))}`;
      const message = `[${vscode.l10n.t('Review')}](command:remit.review) · [${vscode.l10n.t('Deny')}](${deny})`;
      void vscode.window.withProgress({ location: vscode.ProgressLocation.Notification, title }, (progress) => {
        progress.report({ message });
        return new Promise<void>((resolve) => { open.set(id, resolve); });
      });
    },
    changed: (view) => {
      const waiting = pending(view).filter((item) => item.answer === null).map((item) => item.id);
      for (const [id, close] of open) {
        if (waiting.includes(id)) continue;
        close();
        open.delete(id);
      }
    },
  };
}
