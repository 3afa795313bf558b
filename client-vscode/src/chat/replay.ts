// Turns a stored session into turns of the chat, which are only shown and never run again (SES-02).
import type { CallEnded, ErrorCode, SessionRecord, ToolResultEvent } from '../contract';
import { outcomeWords, type Outcome } from './outcome';
import type { Folder, Item, NoteItem, ToolItem, Turn } from './view';

/** The tool that the commands `/undo` and `/redo` call. */
const UNDO = 'undo_changes';
/** The tool that `!command` calls. */
const RUN = 'run_command';

/** Returns the turns of a session, oldest first. `folders` are the folders of the window. */
export function turnsOf(records: readonly SessionRecord[], folders: readonly Folder[]): readonly Turn[] {
  const start = records.find((record) => record.type === 'session_start');
  const turns: Turn[] = [];
  for (const record of records) {
    if (record.type === 'turn_start') {
      turns.push(newTurn(start?.session_id ?? '', start?.workspace ?? null, record, folders));
      continue;
    }
    const last = turns.at(-1);
    if (last && 'turn_id' in record && record.turn_id === last.turn_id) turns[turns.length - 1] = add(last, record);
  }
  // A turn without a recorded end was cut off when its process ended.
  return turns.map((turn) => (turn.status === 'running' ? { ...turn, status: 'cancelled' } : turn));
}

/** Counts a session's messages up to and including a turn, or up to before it. Returns null if the session has no such turn. */
export function messagesUpTo(records: readonly SessionRecord[], turn_id: string, withTurn: boolean): number | null {
  const begin = records.findIndex((record) => record.type === 'turn_start' && record.turn_id === turn_id);
  if (begin < 0) return null;
  const after = records.findIndex((record, index) => index > begin && record.type === 'turn_start');
  const upTo = records.slice(0, withTurn ? (after < 0 ? records.length : after) : begin);
  return upTo.filter(({ type }) => type === 'user' || type === 'assistant').length;
}

function newTurn(
  session_id: string, workspace: string | null,
  { turn_id, timestamp }: { readonly turn_id: string; readonly timestamp: string }, folders: readonly Folder[],
): Turn {
  return {
    session_id, turn_id, prompt: '', attached: [], folders, workspace, seq: 0, status: 'running', reason: null, suggestion: null,
    items: [], changes: [], taken_back_by: null, usage: null, read: null,
    started: timestamp, ended: timestamp,
  };
}

function add(turn: Turn, record: SessionRecord): Turn {
  const now: Turn = { ...turn, ended: record.timestamp };
  const id = `${turn.items.length}`;
  switch (record.type) {
    case 'user':
      if (record.origin === 'person') return { ...now, prompt: now.prompt ? `${now.prompt}\n${record.content}` : record.content };
      return now.prompt ? now : { ...now, prompt: ownCall(now) };
    case 'assistant':
      return record.content ? append(now, { kind: 'text', id, text: record.content }) : now;
    case 'tool_call':
      if (record.name === 'select_active_intent') return now;
      return append(now, { kind: 'tool', id: record.id, tool: record.name, arguments: record.arguments, printed: '', result: null, sub_agent: record.parent ?? null });
    case 'tool_result':
      return addResult(now, record);
    case 'intent':
      return insertIntent(now, {
        kind: 'intent', id: `intent-${id}`, intent: record.intent, previous: null, justification: record.justification, allowed_tools: [], sub_agent: null,
      });
    case 'approval':
      return append(now, note(answerId(record), 'info', `${outcomeWords({ ...record, by: record.by as Outcome['by'] })} · ${record.title}`));
    case 'condensed':
      return append(now, note(id, 'info', 'the conversation was condensed for the model; all of it is kept'));
    case 'warning':
      return append(now, note(id, 'warning', record.message));
    case 'turn_end':
      return {
        ...(record.error && record.status !== 'cancelled'
          ? append(now, { kind: 'note', id: `note-${id}`, level: 'error', text: record.error.message, error: record.error })
          : now),
        status: record.status, reason: record.reason, suggestion: record.suggestion ?? null, usage: record.usage, changes: record.changes ?? [], taken_back_by: record.taken_back_by ?? null,
      };
    default:
      return now;
  }
}

/** Inserts an intent before the calls of its step, because the session records those calls before the intent. */
function insertIntent(turn: Turn, intent: Item): Turn {
  const begin = turn.items.findLastIndex((item) => item.kind !== 'tool' || item.result !== null) + 1;
  return { ...turn, items: turn.items.toSpliced(begin, 0, intent) };
}

/** The prompt to show for a turn that the person began with a tool call of their own. */
function ownCall(turn: Turn): string {
  const call = turn.items.find((item): item is ToolItem => item.kind === 'tool');
  if (call?.tool === UNDO) return call.arguments['direction'] === 'redo' ? '/redo' : '/undo';
  const command = call?.tool === RUN ? call.arguments['command'] : null;
  return call ? `!${typeof command === 'string' ? command : call.tool}` : '';
}

/**
 * Sets the result of a call; a later result replaces an earlier one. The call that declares the intent has no item and is skipped.
 * The result says how its question ended, so the note about that goes.
 */
function addResult(turn: Turn, record: CallEnded): Turn {
  const index = turn.items.findLastIndex((item) => item.kind === 'tool' && item.id === record.id);
  const item = turn.items[index];
  if (item?.kind !== 'tool') return turn;
  const settled = record.answer && `note-${answerId(record.answer)}`;
  const items = turn.items.with(index, { ...item, printed: printedBy(record), result: resultOf(turn, record) });
  return { ...turn, items: items.filter(({ kind, id }) => kind !== 'note' || id !== settled) };
}

const answerId = ({ approval_id }: { readonly approval_id: string }): string => `answer-${approval_id}`;

/** What a command printed, out of what the model was told of it. */
function printedBy({ name, exit_code, output }: CallEnded): string {
  if (name !== RUN || exit_code === null) return '';
  const [, ...lines] = output.split('\n');
  return lines.filter((line) => line !== 'stdout:' && line !== 'stderr:').join('\n');
}

function resultOf(turn: Turn, record: CallEnded): ToolResultEvent {
  const { id, name, success, summary, output, decision, answer = null, rules, changed_files, exit_code, duration_ms, timestamp } = record;
  return {
    kind: 'tool_result', seq: 0, step: 0, session_id: turn.session_id, turn_id: turn.turn_id, time: timestamp, tool_call_id: id,
    tool: name, ok: success, summary: summary || output, output, data: {}, error: errorOf(record), decision, answer, rules, reasons: [],
    changed_files, exit_code, duration_ms,
  };
}

/** The error of a call, of which a session has the code, what and why in one text, and the fix as the model was told it. */
function errorOf({ error, summary, output }: CallEnded): ToolResultEvent['error'] {
  if (error === null) return null;
  const [what = summary, ...why] = summary.split(': ');
  const [, fix = ''] = /^fix: (.*)$/m.exec(output) ?? [];
  return { code: error as ErrorCode, message: summary, retryable: false, what, why: why.join(': '), fix };
}

function append(turn: Turn, item: Item): Turn {
  return { ...turn, items: [...turn.items, item] };
}

function note(id: string, level: NoteItem['level'], text: string): NoteItem {
  return { kind: 'note', id: `note-${id}`, level, text, error: null };
}
