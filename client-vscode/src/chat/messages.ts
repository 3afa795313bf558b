// The messages between the extension host and the webview.
import type { ChatProposal, LeftOut } from '../contract';
import { isAttachments, type Attachments, type Draft } from './attached';
import { isRemedy, type Problem, type Remedy } from '../problem';
import type { ServerState } from '../server/health';
import type { LeftOutParts } from './parts';
import type { Change } from './reduce';
import type { Choice, Standing, View } from './view';

/** The state of the server that the chat shows besides its turns. */
export interface ServerView {
  readonly state: ServerState;
  readonly model: string | null;
  /** The workflow standing of the session that was used last. */
  readonly standing: Standing | null;
  /** Whether edits of this session are made without a question. */
  readonly editsAllowed: boolean;
  readonly problem: Problem | null;
}

/** The message that says yes to the sentence which the model suggests. The model reads it, so it is not translated. */
export const YES = 'yes';

/** A place in a file, counted from 1; without a line, the file as a whole. */
export interface FilePlace {
  /** Relative to the folder of the turn, or absolute. */
  readonly path: string;
  readonly line: number | null;
  readonly column: number;
}

/** Changes are numbered from 1 without gaps, so that a lost message is noticed; `next` is the number of the next one. */
export type ToWebview =
  | { readonly type: 'view'; readonly view: View; readonly next: number }
  | { readonly type: 'changes'; readonly first: number; readonly changes: readonly Change[] }
  | { readonly type: 'server'; readonly server: ServerView }
  /** The proposals for what can be typed at the end of `text`. */
  | { readonly type: 'proposals'; readonly text: string; readonly proposals: readonly ChatProposal[] }
  /** The message that had not been sent when the previous webview was closed. */
  | { readonly type: 'restored'; readonly draft: Draft }
  /** The attachments that the person has chosen for the next message. */
  | { readonly type: 'attach'; readonly attachments: Attachments }
  /** An earlier message for the input field, to be changed and sent again. */
  | { readonly type: 'fill'; readonly text: string }
  /** Sample requests about the open file. */
  | { readonly type: 'samples'; readonly samples: readonly string[] }
  | { readonly type: 'focus' };

export type FromWebview =
  /** The webview has started. */
  | { readonly type: 'ready' }
  /** A change did not arrive, so the webview needs the whole view. */
  | { readonly type: 'missed' }
  | { readonly type: 'draft'; readonly draft: Draft }
  /** All changes before `next` have arrived. `drawn` says whether the chat is in the document. */
  | { readonly type: 'seen'; readonly next: number; readonly drawn: boolean }
  | { readonly type: 'ask'; readonly text: string; readonly attachments: Attachments }
  | { readonly type: 'complete'; readonly text: string }
  /** The person wants to choose an attachment, another model, or the mode of the workflow. */
  | { readonly type: 'pick_attachment' }
  | { readonly type: 'pick_model' }
  | { readonly type: 'pick_mode' }
  /** Files were dropped on the chat; `uris` has their addresses. */
  | { readonly type: 'dropped'; readonly uris: readonly string[] }
  /** Continue in a copy of the session up to this turn; with `ask_again` up to before it, with its message in the input field. */
  | { readonly type: 'fork'; readonly turn_id: string; readonly ask_again: boolean }
  | { readonly type: 'stop' }
  /** `undo` takes back what the last turn changed; `redo` takes back that undo. */
  | { readonly type: 'undo' }
  | { readonly type: 'redo' }
  | { readonly type: 'answer'; readonly approval_id: string; readonly choice: Choice }
  | { readonly type: 'leave_out'; readonly approval_id: string; readonly left_out: LeftOutParts }
  | { readonly type: 'open_diff'; readonly approval_id: string; readonly index: number }
  | { readonly type: 'open_file'; readonly turn_id: string; readonly place: FilePlace }
  | { readonly type: 'mend'; readonly remedy: Remedy };

/** Returns the message from the webview, or null if the value is not a message. */
export function parseMessage(value: unknown): FromWebview | null {
  if (typeof value !== 'object' || value === null) return null;
  const message = value as { readonly [key: string]: unknown };
  const { type, text, approval_id, choice, left_out, index, place, remedy, turn_id, next, drawn, attachments, uris, ask_again, draft } = message;
  switch (type) {
    case 'ready':
    case 'missed':
    case 'stop':
    case 'undo':
    case 'redo':
    case 'pick_attachment':
    case 'pick_model':
    case 'pick_mode':
      return { type };
    case 'draft':
      return isDraft(draft) ? { type, draft } : null;
    case 'seen':
      return typeof next === 'number' && typeof drawn === 'boolean' ? { type, next, drawn } : null;
    case 'ask':
      return typeof text === 'string' && isAttachments(attachments) ? { type, text, attachments } : null;
    case 'dropped':
      return Array.isArray(uris) && uris.every((each) => typeof each === 'string') ? { type, uris } : null;
    case 'fork':
      return typeof turn_id === 'string' && typeof ask_again === 'boolean' ? { type, turn_id, ask_again } : null;
    case 'complete':
      return typeof text === 'string' ? { type, text } : null;
    case 'answer': {
      const chosen = parseChoice(choice);
      return typeof approval_id === 'string' && chosen ? { type, approval_id, choice: chosen } : null;
    }
    case 'leave_out':
      return typeof approval_id === 'string' && Array.isArray(left_out) && left_out.every(isLeftOut)
        ? { type, approval_id, left_out } : null;
    case 'open_diff':
      return typeof approval_id === 'string' && typeof index === 'number' ? { type, approval_id, index } : null;
    case 'open_file':
      return typeof turn_id === 'string' && isFilePlace(place) ? { type, turn_id, place } : null;
    case 'mend':
      return isRemedy(remedy) ? { type, remedy } : null;
    default:
      return null;
  }
}

function parseChoice(value: unknown): Choice | null {
  if (typeof value !== 'object' || value === null) return null;
  const { decision, scope, comment } = value as { readonly [key: string]: unknown };
  if (decision !== 'allow' && decision !== 'deny') return null;
  if (scope !== 'once' && scope !== 'session' && scope !== 'edits' && scope !== 'always' && scope !== 'everywhere') return null;
  return isComment(comment) ? { decision, scope, comment } : null;
}

function isLeftOut(value: unknown): value is LeftOut {
  if (typeof value !== 'object' || value === null) return false;
  const { path, hunk, comment } = value as { readonly [key: string]: unknown };
  return typeof path === 'string' && (hunk === null || typeof hunk === 'number') && isComment(comment);
}

function isComment(value: unknown): value is string | null {
  return value === null || typeof value === 'string';
}

function isDraft(value: unknown): value is Draft {
  if (typeof value !== 'object' || value === null) return false;
  const { text, attachments } = value as { readonly [key: string]: unknown };
  return typeof text === 'string' && isAttachments(attachments);
}

function isFilePlace(value: unknown): value is FilePlace {
  if (typeof value !== 'object' || value === null) return false;
  const { path, line, column } = value as { readonly [key: string]: unknown };
  return typeof path === 'string' && (line === null || typeof line === 'number') && typeof column === 'number';
}
