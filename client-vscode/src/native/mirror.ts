// Translates a change of Remit's chat into pieces for VS Code's own chat: Markdown, progress lines, and questions with a button
// (EDI-11). Pure.
import type { Change } from '../chat/reduce';
import type { View } from '../chat/view';
import type { RunResult } from '../contract';
import { inWords, type Problem } from '../problem';
import { plainMarkdown, visible } from '../text';

export type Piece =
  | { readonly kind: 'text' | 'progress' | 'question'; readonly text: string }
  /** The turn has ended. */
  | { readonly kind: 'end'; readonly text: string };

/** The pieces to show for one turn after this change. */
export function piecesOf(turnId: string, change: Change, view: View): readonly Piece[] {
  switch (change.type) {
    case 'event':
      if (change.event.turn_id !== turnId) return [];
      return change.event.kind === 'run_completed' ? [ending(turnId, view, change.event.result, null)] : ofEvent(change.event);
    // This matters only for a turn without `run_completed`, because that event has already ended any other turn.
    case 'ended':
      return change.turn_id === turnId ? [ending(turnId, view, change.result, change.error)] : [];
    case 'told':
      return change.turn_id === turnId ? [{ kind: 'end', text: visible(change.text) }] : [];
    case 'cleared':
    case 'loaded':
      return [{ kind: 'end', text: '' }];
    default:
      return [];
  }
}

function ending(turnId: string, view: View, result: RunResult | null, error: Problem | null): Piece {
  const spoken = view.turns.find((each) => each.turn_id === turnId)?.items.some((item) => item.kind === 'text') ?? false;
  const status = result?.status ?? 'failed';
  const problem = error ?? result?.error;
  const why = problem ? inWords(problem) : result?.reason;
  const words = [status === 'completed' && spoken ? '' : status, why ? plainMarkdown(why) : ''].filter(Boolean).join(': ');
  return { kind: 'end', text: words && `\n\n_${words}_` };
}

function ofEvent(event: Extract<Change, { readonly type: 'event' }>['event']): readonly Piece[] {
  switch (event.kind) {
    case 'token_delta':
      return [{ kind: 'text', text: visible(event.text) }];
    case 'intent_selected':
      return [{ kind: 'progress', text: event.intent }];
    case 'tool_call':
      return [{ kind: 'progress', text: plainMarkdown(`${event.tool} ${subject(event.arguments)}`.trim()) }];
    case 'tool_result':
      return event.ok ? [] : [{ kind: 'text', text: `\n\n${plainMarkdown(event.tool)}: ${plainMarkdown(event.summary)}\n\n` }];
    case 'approval_required':
      return [{ kind: 'question', text: `\n\n**Remit asks:** ${plainMarkdown(event.title)}\n\n` }];
    case 'warning':
      return [{ kind: 'text', text: `\n\n_${plainMarkdown(event.message)}_\n\n` }];
    default:
      return [];
  }
}

function subject(given: { readonly [key: string]: unknown }): string {
  const about = given['path'] ?? given['command'] ?? given['pattern'];
  return typeof about === 'string' ? about.slice(0, 120) : '';
}
