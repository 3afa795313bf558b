// A conversation as a list of rows; only the visible ones are drawn (EDI-05). Pure.
import { isToldOf, repeatedOf, type Repeated } from '../chat/repeats';
import { goneFiles, isOpen, pending, type ApprovalItem, type Item, type Turn, type View } from '../chat/view';

export interface AskedRow {
  readonly kind: 'asked';
  readonly key: string;
  readonly turn: Turn;
  /** True when no turn runs, so that the chat can go back to this one. */
  readonly idle: boolean;
}

export interface ItemRow {
  readonly kind: 'item';
  readonly key: string;
  readonly turnId: string;
  readonly item: Item;
  /** The question about this call. */
  readonly approval: ApprovalItem | null;
  readonly over: boolean;
  /** Whether this is the last turn and it has ended. */
  readonly current: boolean;
  /** Whether the person typed the call, so that no model was asked. */
  readonly own: boolean;
  /** The place of this row's open question among all open questions, counted from 1; 0 if it has none. `waiting` is their number. */
  readonly place: number;
  readonly waiting: number;
  /** Whether the turn tells elsewhere why this call was not done. */
  readonly told: boolean;
  /** How much of what the call's command printed the turn's answers repeat. */
  readonly repeated: Repeated;
  /** The files of the turn's folder that are gone by now, so that they cannot be opened. */
  readonly gone: ReadonlySet<string>;
}

export interface EndingRow {
  readonly kind: 'ending';
  readonly key: string;
  readonly turn: Turn;
  /** Whether this is the last turn and no turn runs, so that its changes can be taken back. */
  readonly last: boolean;
  /** As in `ItemRow`. */
  readonly gone: ReadonlySet<string>;
}

export type Row = AskedRow | ItemRow | EndingRow;

/** The rows of each turn from the last call, so that a turn that has not changed keeps the same row objects. */
const known = new WeakMap<Turn, { readonly when: string; readonly gone: ReadonlySet<string>; readonly rows: readonly Row[] }>();

const MOST_SETS = 100;
/** The sets of files by their names, so that sets of the same files are the same object. */
const sets = new Map<string, ReadonlySet<string>>();

function asBefore(files: ReadonlySet<string>): ReadonlySet<string> {
  const key = JSON.stringify([...files].sort());
  const before = sets.get(key);
  if (before) return before;
  if (sets.size > MOST_SETS) sets.clear();
  sets.set(key, files);
  return files;
}

/** The rows of all turns, oldest first. */
export function rowsOf(view: View): readonly Row[] {
  const questions = pending(view).map((item) => item.id);
  const idle = view.turns.every((turn) => turn.status !== 'running');
  const gone = new Map([...goneFiles(view.turns)].map(([folder, files]) => [folder, asBefore(files)]));
  return view.turns.flatMap((turn, index) => {
    const last = index === view.turns.length - 1;
    const files = gone.get(turn.workspace)!;
    const when = JSON.stringify([last, idle, questions]);
    const before = known.get(turn);
    if (before?.when === when && before.gone === files) return before.rows;
    const rows = rowsOfTurn(turn, last, idle, questions, files);
    known.set(turn, { when, gone: files, rows });
    return rows;
  });
}

function rowsOfTurn(turn: Turn, last: boolean, idle: boolean, questions: readonly string[], gone: ReadonlySet<string>): readonly Row[] {
  const over = turn.status !== 'running';
  const own = !turn.usage?.prompt_tokens && /^[!/]/.test(turn.prompt);
  const asked = new Map<string, ApprovalItem>();
  const calls = new Set<string>();
  for (const item of turn.items) {
    if (item.kind === 'tool') calls.add(item.id);
    if (item.kind === 'approval' && !asked.has(item.question.tool_call_id)) asked.set(item.question.tool_call_id, item);
  }
  const rows: Row[] = [{ kind: 'asked', key: `${turn.turn_id} asked`, turn, idle }];
  for (const item of turn.items) {
    // A question about a call is drawn with the call.
    if (item.kind === 'approval' && calls.has(item.question.tool_call_id)) continue;
    const approval = item.kind === 'tool' ? asked.get(item.id) ?? null : null;
    const question = item.kind === 'approval' ? item : approval;
    const open = question && isOpen(question) ? question : null;
    rows.push({
      kind: 'item', key: `${turn.turn_id} ${item.kind} ${item.id}`, turnId: turn.turn_id, item, approval, over, own, current: last && over,
      place: open ? questions.indexOf(open.id) + 1 : 0, waiting: open ? questions.length : 0,
      told: over && item.kind === 'tool' && isToldOf(item, turn),
      repeated: over && item.kind === 'tool' ? repeatedOf(item, turn.items) : 'nothing', gone,
    });
  }
  return [...rows, { kind: 'ending', key: `${turn.turn_id} ending`, turn, last: last && idle, gone }];
}

/** Whether a row must stay in the document although it is not visible, because its question can be answered. */
export function asks(row: Row): boolean {
  return row.kind === 'item' && row.place > 0;
}

/** Whether a row belongs to a sub-agent and not to the turn's own steps (AGT-17). */
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

/** A guess at the height in pixels of a row that was never drawn. */
export function guessedHeight(row: Row): number {
  if (row.kind !== 'item') return BEGINNING[row.kind];
  const { item } = row;
  const lines = item.kind === 'text' ? item.text.length / CHARS_A_LINE : item.kind === 'tool' && item.printed ? 8 : 0;
  return BEGINNING[item.kind] + Math.ceil(lines) * LINE;
}
