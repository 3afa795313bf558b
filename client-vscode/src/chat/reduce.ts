// How each event changes what the chat shows (EDI-01).
// Runs twice on the same changes: in the extension host, which keeps the view, and in the webview, which draws it.
import type { AgentEvent, ApprovalReceipt, RunResult, Scope, ToolOutput, ToolResultEvent } from '../contract';
import type { Problem } from '../problem';
import type { LeftOutParts } from './parts';
import { contextUse, sum } from './usage';
import { count, isOpen, tells, type ApprovalItem, type Folder, type Item, type NoteItem, type Turn, type View } from './view';

/** The most characters of a command's output that the server shows without leaving lines out. */
const PRINTED_KEPT = 20_000;

export interface Asked {
  readonly type: 'asked';
  readonly session_id: string;
  readonly turn_id: string;
  readonly prompt: string;
  readonly attached: readonly string[];
  readonly folders: readonly Folder[];
}

export type Change =
  | Asked
  | { readonly type: 'event'; readonly event: AgentEvent }
  | { readonly type: 'answered'; readonly approval_id: string; readonly decision: 'allow' | 'deny'; readonly scope: Scope }
  | { readonly type: 'left_out'; readonly approval_id: string; readonly left_out: LeftOutParts }
  | { readonly type: 'read'; readonly approval_id: string; readonly paths: readonly string[] }
  | { readonly type: 'receipt'; readonly approval_id: string; readonly receipt: ApprovalReceipt }
  /** The request has ended with a result, or the server has refused it or is gone. */
  | { readonly type: 'ended'; readonly turn_id: string; readonly result: RunResult | null; readonly error: Problem | null }
  /** The person has chosen a model for their next messages; null is the configured one. */
  | { readonly type: 'model_chosen'; readonly model: string | null }
  /** A command of the chat was answered and nothing was run. */
  | { readonly type: 'told'; readonly turn_id: string; readonly text: string; readonly status: 'completed' | 'cancelled' }
  | { readonly type: 'cleared' }
  /** A stored session replaces the turns that are shown. */
  | { readonly type: 'loaded'; readonly turns: readonly Turn[] };

export const EMPTY: View = { turns: [], model: null, standing: null, context: null };

export function reduce(view: View, change: Change): View {
  switch (change.type) {
    case 'asked':
      return { ...view, turns: [...view.turns, newTurn(change)] };
    case 'event':
      return onEvent(view, change.event);
    case 'answered':
      return onApproval(view, change.approval_id, (item) =>
        item.outcome ? item : { ...item, answer: { decision: change.decision, scope: change.scope }, refused: null });
    case 'left_out':
      return onApproval(view, change.approval_id, (item) => (item.answer ? item : { ...item, left_out: change.left_out }));
    case 'read':
      return onApproval(view, change.approval_id, (item) => ({ ...item, read: change.paths }));
    case 'receipt':
      return onApproval(view, change.approval_id, (item) =>
        change.receipt.accepted || item.outcome
          ? item
          : { ...item, answer: null, refused: change.receipt.reason ?? 'the server did not accept this answer' });
    case 'ended':
      return onTurn(view, change.turn_id, (turn) => end(turn, change.result, change.error));
    case 'told':
      return onTurn(view, change.turn_id, (turn) => tell(turn, change.text, change.status));
    case 'model_chosen':
      return view.model === change.model ? view : { ...view, model: change.model };
    case 'cleared':
      return EMPTY;
    case 'loaded':
      return { ...EMPTY, turns: change.turns };
    default:
      return never(change);
  }
}

function newTurn({ session_id, turn_id, prompt, attached, folders }: Asked): Turn {
  return {
    session_id, turn_id, prompt, attached, folders, workspace: null, seq: 0, status: 'running', reason: null, suggestion: null,
    items: [], changes: [], taken_back_by: null, usage: null, read: null,
    started: null, ended: null,
  };
}

function onTurn(view: View, turnId: string, change: (turn: Turn) => Turn): View {
  const index = view.turns.findLastIndex((turn) => turn.turn_id === turnId);
  const turn = view.turns[index];
  if (!turn) return view;
  const changed = change(turn);
  return changed === turn ? view : { ...view, turns: view.turns.with(index, changed) };
}

function onApproval(view: View, approvalId: string, change: (item: ApprovalItem) => ApprovalItem): View {
  const turn = view.turns.find((each) => each.items.some((item) => item.kind === 'approval' && item.id === approvalId));
  return turn ? onTurn(view, turn.turn_id, (each) => replaceApproval(each, approvalId, change)) : view;
}

function replaceApproval(turn: Turn, approvalId: string, change: (item: ApprovalItem) => ApprovalItem): Turn {
  return {
    ...turn,
    items: turn.items.map((item) => (item.kind === 'approval' && item.id === approvalId ? change(item) : item)),
  };
}

function onEvent(view: View, event: AgentEvent): View {
  const changed = onTurn(view, event.turn_id, (turn) => {
    if (turn.status !== 'running' || event.session_id !== turn.session_id || event.seq <= turn.seq) return turn;
    const missing = event.seq - turn.seq - 1;
    const complete = missing === 0 ? turn : append(turn, gap(turn, missing));
    return applyEvent({ ...complete, read: null, seq: event.seq, ended: event.time }, event);
  });
  if (changed === view) return view;
  if (event.kind === 'run_started') return { ...changed, model: event.model };
  if (event.kind === 'usage' && event.sub_agent === undefined) return { ...changed, context: contextUse(event) };
  if (event.kind !== 'state_changed') return changed;
  return { ...changed, standing: { mode: event.mode, state: event.state, means: event.means } };
}

function applyEvent(turn: Turn, event: AgentEvent): Turn {
  switch (event.kind) {
    case 'run_started':
      return { ...turn, started: event.time, workspace: event.workspace };
    case 'intent_selected':
      return append(turn, {
        kind: 'intent', id: `${event.seq}`, intent: event.intent, previous: event.previous,
        justification: event.justification, allowed_tools: event.allowed_tools, sub_agent: event.sub_agent ?? null,
      });
    case 'token_delta':
      return addText(turn, 'text', event.seq, event.text);
    case 'thinking_delta':
      return addText(turn, 'thinking', event.seq, event.text);
    case 'prompt_progress':
      return { ...turn, read: Math.floor((event.done * 100) / event.total) };
    case 'tool_call':
      return append(turn, {
        kind: 'tool', id: event.tool_call_id, tool: event.tool, arguments: event.arguments, printed: '', result: null,
        sub_agent: event.sub_agent ?? null,
      });
    case 'tool_output':
      return addPrinted(turn, event);
    case 'command_waits':
    case 'process_changed':
      return append(turn, note(event.seq, 'info', event.means));
    case 'tool_result':
      return addResult(turn, event);
    case 'approval_required':
      return append(turn, {
        kind: 'approval', id: event.approval_id, question: event, left_out: [], read: [], answer: null, refused: null, outcome: null,
      });
    case 'approval_resolved':
      // Nobody was asked; the call's result says who allowed it, and a review says more about itself.
      if (event.by === 'review') return append(turn, note(event.seq, 'info', `not asked: ${event.reason ?? 'the review was approved'}`));
      return replaceApproval(turn, event.approval_id, (item) =>
        item.outcome ? item : { ...item, outcome: { decision: event.decision, scope: event.scope, by: event.by } });
    case 'state_changed':
      // In mode `explore` nothing is blocked, so there is nothing to say.
      return event.mode === 'explore' ? turn : append(turn, note(event.seq, 'info', `${event.mode} mode: ${event.state}`));
    case 'review_required':
      return append(turn, note(event.seq, 'info', `${count(event.diffs.length, 'file')} to review`));
    case 'review_resolved':
      return append(turn, note(event.seq, 'info', `review: ${event.accepted} accepted, ${event.rejected} left out`));
    case 'context_condensed': {
      const sent = `from ${event.before_tokens} to ${event.after_tokens} of ${event.window} tokens`;
      return append(turn, note(event.seq, 'info', `the conversation was condensed for the model, ${sent}; all of it is kept`));
    }
    case 'usage':
      return { ...turn, usage: sum(turn.usage, event.usage) };
    case 'warning':
      return append(turn, note(event.seq, 'warning', event.message));
    case 'error':
      return isStop(event.error) ? turn : append(turn, note(event.seq, 'error', event.error.message, event.error));
    case 'run_completed':
      return end(turn, event.result, null);
    default:
      return append(turn, unknownEvent(turn.seq, event));
  }
}

/** Ends a turn. A question that is still open then was not answered, which means deny. */
function end(turn: Turn, result: RunResult | null, error: Problem | null): Turn {
  if (turn.status !== 'running') return turn;
  const closed: Turn = {
    ...turn,
    status: result?.status ?? (error && isStop(error) ? 'cancelled' : 'failed'),
    reason: result?.reason ?? null,
    suggestion: result?.suggestion ?? null,
    changes: result?.changes ?? [],
    taken_back_by: result?.taken_back_by ?? null,
    usage: result?.usage ?? turn.usage,
    items: turn.items.map((item) => (item.kind === 'approval' && isOpen(item)
      ? { ...item, outcome: { decision: 'deny', scope: 'once', by: result ? 'cancelled' : 'disconnected' } }
      : item)),
  };
  const problem = result?.error ?? error;
  const untold = problem && !isStop(problem) && !tells(closed, problem);
  const explained = untold ? append(closed, note('end', 'error', problem.what, problem)) : closed;
  const spoken = explained.items.some((item) => item.kind === 'text');
  return result?.final_output && !spoken ? addText(explained, 'text', 'final', result.final_output) : explained;
}

function tell(turn: Turn, text: string, status: Turn['status']): Turn {
  if (turn.status !== 'running') return turn;
  return { ...(text ? append(turn, { kind: 'text', id: 'told', text }) : turn), status };
}

/** Whether the person stopped the turn, which is not shown as an error. */
function isStop(problem: Problem): boolean {
  return problem.code === 'cancelled';
}

function append(turn: Turn, item: Item): Turn {
  return { ...turn, items: [...turn.items, item] };
}

function addText(turn: Turn, kind: 'text' | 'thinking', id: number | string, text: string): Turn {
  const last = turn.items.at(-1);
  if (last?.kind !== kind) return append(turn, { kind, id: `${id}`, text });
  return { ...turn, items: turn.items.with(-1, { ...last, text: last.text + text }) };
}

function addPrinted(turn: Turn, event: ToolOutput): Turn {
  const index = turn.items.findLastIndex((item) => item.kind === 'tool' && item.id === event.tool_call_id);
  const item = turn.items[index];
  if (item?.kind !== 'tool') return turn;
  const printed = (item.printed ? `${item.printed}\n${event.text}` : event.text).slice(-PRINTED_KEPT);
  return { ...turn, items: turn.items.with(index, { ...item, printed }) };
}

/** Adds the result to its call. A result without a call (the call was refused before it was announced) gets an item of its own. */
function addResult(turn: Turn, event: ToolResultEvent): Turn {
  const index = turn.items.findLastIndex((item) => item.kind === 'tool' && item.id === event.tool_call_id);
  const item = turn.items[index];
  if (item?.kind !== 'tool') {
    return append(turn, { kind: 'tool', id: event.tool_call_id, tool: event.tool, arguments: {}, printed: '', result: event, sub_agent: event.sub_agent ?? null });
  }
  return { ...turn, items: turn.items.with(index, { ...item, result: event }) };
}

function note(id: number | string, level: NoteItem['level'], text: string, error: NoteItem['error'] = null): NoteItem {
  return { kind: 'note', id: `note-${id}`, level, text, error };
}

function gap(turn: Turn, missing: number): NoteItem {
  return note(`gap-${turn.seq}`, 'warning', `${count(missing, 'event')} did not arrive: what is shown here is incomplete`);
}

/** The type knows all kinds of events, but a newer server can send a kind that this extension does not know. */
function unknownEvent(seq: number, event: never): NoteItem {
  const { kind } = event as { kind: string };
  return note(seq, 'warning', `the server sent \`${kind}\`, which this version of the extension does not know`);
}

function never(value: never): never {
  throw new Error(`not a change: ${JSON.stringify(value)}`);
}
