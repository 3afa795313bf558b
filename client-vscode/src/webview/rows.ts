// A conversation as rows, one below the other: only those in sight are drawn (EDI-05). Pure.
import { isOpen, pending, type ApprovalItem, type Item, type Turn, type View } from '../chat/view';

export interface AskedRow {
  readonly kind: 'asked';
  readonly key: string;
  readonly turn: Turn;
  /** Nothing runs: the turn can be gone back to. */
  readonly idle: boolean;
}

export interface ItemRow {
  readonly kind: 'item';
  readonly key: string;
  readonly turnId: string;
  readonly item: Item;
  /** The question that a call led to. */
  readonly approval: ApprovalItem | null;
  readonly over: boolean;
  /** The turn has ended, and nothing has been asked since. */
  readonly current: boolean;
  /** A call that the person typed: no model was asked. */
  readonly own: boolean;
  /** Which of the open questions this is, counted from 1, and of how many; 0 where it asks nothing. */
  readonly place: number;
  readonly waiting: number;
}

export interface EndingRow {
  readonly kind: 'ending';
  readonly key: string;
  readonly turn: Turn;
  /** It is the last turn, and nothing runs: what it changed can be taken back. */
  readonly last: boolean;
}

export type Row = AskedRow | ItemRow | EndingRow;

/** The rows that a turn had when it was last asked for: a turn that has not changed has the same ones. */
const known = new WeakMap<Turn, { readonly when: string; readonly rows: readonly Row[] }>();

/** The rows of all turns, oldest first. */
export function rowsOf(view: View): readonly Row[] {
  const questions = pending(view).map((item) => item.id);
  const idle = view.turns.every((turn) => turn.status !== 'running');
  return view.turns.flatMap((turn, index) => {
    const last = index === view.turns.length - 1;
    const when = JSON.stringify([last, idle, questions]);
    const before = known.get(turn);
    if (before?.when === when) return before.rows;
    const rows = rowsOfTurn(turn, last, idle, questions);
    known.set(turn, { when, rows });
    return rows;
  });
}

function rowsOfTurn(turn: Turn, last: boolean, idle: boolean, questions: readonly string[]): readonly Row[] {
  const over = turn.status !== 'running';
  const own = turn.usage === null && /^[!/]/.test(turn.prompt);
  const asked = new Map<string, ApprovalItem>();
  const calls = new Set<string>();
  for (const item of turn.items) {
    if (item.kind === 'tool') calls.add(item.id);
    if (item.kind === 'approval' && !asked.has(item.question.tool_call_id)) asked.set(item.question.tool_call_id, item);
  }
  const rows: Row[] = [{ kind: 'asked', key: `${turn.turn_id} asked`, turn, idle }];
  for (const item of turn.items) {
    // A question is drawn with the call that led to it.
    if (item.kind === 'approval' && calls.has(item.question.tool_call_id)) continue;
    const approval = item.kind === 'tool' ? asked.get(item.id) ?? null : null;
    const question = item.kind === 'approval' ? item : approval;
    const open = question && isOpen(question) ? question : null;
    rows.push({
      kind: 'item', key: `${turn.turn_id} ${item.kind} ${item.id}`, turnId: turn.turn_id, item, approval, over, own, current: last && over,
      place: open ? questions.indexOf(open.id) + 1 : 0, waiting: open ? questions.length : 0,
    });
  }
  return [...rows, { kind: 'ending', key: `${turn.turn_id} ending`, turn, last: last && idle }];
}

/** Whether a row has to stay drawn wherever the person is: its question takes an answer. */
export function asks(row: Row): boolean {
  return row.kind === 'item' && row.place > 0;
}

/** Whether a row is of what a sub-agent does, and not of the turn's own steps (AGT-17). */
export function isOfSubAgent(row: Row): boolean {
  if (row.kind !== 'item') return false;
  const { item } = row;
  if (item.kind === 'approval') return item.question.asked_by !== null;
  return (item.kind === 'tool' || item.kind === 'intent') && item.sub_agent !== null;
}

const LINE = 20;
const CHARS_A_LINE = 60;
const BEGINNING: { readonly [kind in Item['kind'] | 'asked' | 'ending']: number } = {
  asked: 60, ending: 36, text: 30, thinking: 28, intent: 30, tool: 48, approval: 30, note: 40,
};

/** How high a row is that was never drawn, in pixels: a guess. */
export function guessedHeight(row: Row): number {
  if (row.kind !== 'item') return BEGINNING[row.kind];
  const { item } = row;
  const lines = item.kind === 'text' ? item.text.length / CHARS_A_LINE : item.kind === 'tool' && item.printed ? 8 : 0;
  return BEGINNING[item.kind] + Math.ceil(lines) * LINE;
}
