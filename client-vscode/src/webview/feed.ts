// The state of the webview, and how each message of the extension host changes it. Notices a gap in the changes (EDI-05). Pure.
import { NO_DRAFT, withAttachments, type Draft } from '../chat/attached';
import type { ServerView, ToWebview } from '../chat/messages';
import { EMPTY, reduce } from '../chat/reduce';
import type { View } from '../chat/view';
import type { Proposed } from './composer';

export interface State {
  readonly view: View;
  /** The number of the next change. */
  readonly next: number;
  /** A change did not arrive: the webview has asked for the whole view and ignores changes until it comes. */
  readonly lost: boolean;
  readonly server: ServerView;
  readonly proposed: Proposed;
  readonly draft: Draft;
  readonly samples: readonly string[];
}

export type Message = ToWebview | { readonly type: 'draft'; readonly draft: Draft };

export const BEGIN: State = {
  view: EMPTY, next: 1, lost: false, server: { state: 'starting', model: null, standing: null, editsAllowed: false, problem: null },
  proposed: { text: '', proposals: [] }, draft: NO_DRAFT, samples: [],
};

export function receive(state: State, message: Message): State {
  switch (message.type) {
    case 'view':
      return { ...state, view: message.view, next: message.next, lost: false };
    case 'changes':
      if (state.lost) return state;
      if (message.first !== state.next) return { ...state, lost: true };
      return { ...state, view: message.changes.reduce(reduce, state.view), next: message.first + message.changes.length };
    case 'server':
      return { ...state, server: message.server };
    case 'proposals':
      // Answers may arrive in another order than they were asked for, so an answer for other text than the draft's is dropped.
      return message.text === state.draft.text ? { ...state, proposed: message } : state;
    case 'draft':
      return { ...state, draft: message.draft };
    case 'restored':
      // Text typed before the stored draft arrives is kept.
      return state.draft === NO_DRAFT ? { ...state, draft: message.draft } : state;
    case 'attach':
      return { ...state, draft: { ...state.draft, attachments: withAttachments(state.draft.attachments, message.attachments) } };
    case 'fill':
      return { ...state, draft: { ...state.draft, text: message.text } };
    case 'samples':
      return { ...state, samples: message.samples };
    case 'focus':
      return state;
  }
}
