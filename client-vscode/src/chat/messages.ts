// What the extension host and the webview say to each other.
import type { ChatProposal, LeftOut } from '../contract';
import { isRemedy, type Problem, type Remedy } from '../problem';
import type { ServerState } from '../server/health';
import type { LeftOutParts } from './parts';
import type { Change, Choice, View } from './view';

/** What the chat shows of the server besides its turns. */
export interface ServerView {
  readonly state: ServerState;
  readonly model: string | null;
  readonly problem: Problem | null;
}

export type ToWebview =
  | { readonly type: 'view'; readonly view: View }
  | { readonly type: 'change'; readonly change: Change }
  | { readonly type: 'server'; readonly server: ServerView }
  /** What may be typed at the end of `text`. */
  | { readonly type: 'proposals'; readonly text: string; readonly proposals: readonly ChatProposal[] }
  | { readonly type: 'focus' };

export type FromWebview =
  | { readonly type: 'ready' }
  | { readonly type: 'ask'; readonly text: string }
  | { readonly type: 'complete'; readonly text: string }
  | { readonly type: 'stop' }
  | { readonly type: 'answer'; readonly approval_id: string; readonly choice: Choice }
  | { readonly type: 'leave_out'; readonly approval_id: string; readonly left_out: LeftOutParts }
  | { readonly type: 'open_diff'; readonly approval_id: string; readonly index: number }
  | { readonly type: 'open_file'; readonly turn_id: string; readonly path: string }
  | { readonly type: 'mend'; readonly remedy: Remedy };

/** A message from the webview, or null when it is none. */
export function parseMessage(value: unknown): FromWebview | null {
  if (typeof value !== 'object' || value === null) return null;
  const message = value as { readonly [key: string]: unknown };
  const { type, text, approval_id, choice, left_out, index, path, remedy, turn_id } = message;
  switch (type) {
    case 'ready':
    case 'stop':
      return { type };
    case 'ask':
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
      return typeof turn_id === 'string' && typeof path === 'string' ? { type, turn_id, path } : null;
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
  if (scope !== 'once' && scope !== 'session' && scope !== 'always' && scope !== 'everywhere') return null;
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
