// What the webview knows, and how each message of the extension host changes it; a gap in the changes is noticed (EDI-05). Pure.
import { NO_DRAFT, withAttachments, type Draft } from '../chat/attached';
import type { ServerView, ToWebview } from '../chat/messages';
import { EMPTY, reduce } from '../chat/reduce';
import type { View } from '../chat/view';
import type { Proposed } from './composer';

export interface State {
  readonly view: View;
  /** The number of the next change. */
  readonly next: number;
  /** Something did not arrive: the whole view was asked for, and changes wait for it. */
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
      // Answers may overtake each other: one for what is no longer there would take the place of the one that fits.
      return message.text === state.draft.text ? { ...state, proposed: message } : state;
    case 'draft':
      return { ...state, draft: message.draft };
    case 'restored':
      // What was typed before it came stays.
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
