// What the chat shows, as one value, and what can be asked of it (EDI-01). `reduce.ts` says how it changes.
import type {
  ApprovalRequired, ApprovalResolved, ErrorCode, FileOutcome, Intent,
  JsonValue, RunResult, Scope, TokenUsage, ToolResultEvent,
} from '../contract';
import type { Problem } from '../problem';
import type { LeftOutParts } from './parts';
import type { ContextUse } from './usage';

const LONG_TURN_MS = 30_000;

export interface View {
  readonly turns: readonly Turn[];
  readonly model: string | null;
  /** Where the session stands in its workflow, as far as it was told; a session that has not moved yet has said nothing. */
  readonly standing: Standing | null;
  /** How full the model's window was with the last request. */
  readonly context: ContextUse | null;
}

/** How much of the workflow holds, where the work stands in it, and what that allows, in words of the server (FLW-06). */
export interface Standing {
  readonly mode: string;
  readonly state: string;
  readonly means: string;
}

/** A workspace folder that is open in the window. */
export interface Folder {
  readonly name: string;
  /** Absolute, as the file system spells it. */
  readonly path: string;
}

export interface Turn {
  readonly session_id: string;
  readonly turn_id: string;
  readonly prompt: string;
  /** What went along with it, by name. */
  readonly attached: readonly string[];
  /** The folders that were open when it was asked. */
  readonly folders: readonly Folder[];
  /** The absolute path of the folder that the server runs it in, as the server says. */
  readonly workspace: string | null;
  /** The last event's number; events are numbered from 1 without gaps. */
  readonly seq: number;
  readonly status: 'running' | RunResult['status'];
  /** Why nothing was done, or not all. */
  readonly reason: string | null;
  readonly items: readonly Item[];
  /** The files that are not what they were before it. */
  readonly changes: readonly FileOutcome[];
  /** What takes its changes back; null where nothing was kept to do so. */
  readonly taken_back_by: RunResult['taken_back_by'];
  readonly usage: TokenUsage | null;
  /** How much of the step's prompt the model has read, in percent, until something else comes. */
  readonly read: number | null;
  readonly started: string | null;
  readonly ended: string | null;
}

export type Item =
  | { readonly kind: 'text' | 'thinking'; readonly id: string; readonly text: string }
  | IntentItem
  | ToolItem
  | ApprovalItem
  | NoteItem;

export interface IntentItem {
  readonly kind: 'intent';
  readonly id: string;
  readonly intent: Intent;
  readonly previous: Intent | null;
  readonly justification: string | null;
  readonly allowed_tools: readonly string[];
  /** The call that handed its work to the sub-agent that this is of; null where it is the turn's own. */
  readonly sub_agent: string | null;
}

export interface ToolItem {
  readonly kind: 'tool';
  readonly id: string;
  readonly tool: string;
  readonly arguments: { readonly [key: string]: JsonValue };
  /** The last of what its command has printed. */
  readonly printed: string;
  readonly result: ToolResultEvent | null;
  /** As in `IntentItem`. */
  readonly sub_agent: string | null;
}

/** What a person answers; the model can be told why. */
export interface Choice {
  readonly decision: 'allow' | 'deny';
  readonly scope: Scope;
  readonly comment?: string | null;
}

export interface ApprovalItem {
  readonly kind: 'approval';
  readonly id: string;
  readonly question: ApprovalRequired;
  /** The parts that an "allow" would leave out. */
  readonly left_out: LeftOutParts;
  /** The files whose change they have read elsewhere: in the file, or as a diff. */
  readonly read: readonly string[];
  /** What the person pressed; it counts only once the server has resolved the question. */
  readonly answer: { readonly decision: 'allow' | 'deny'; readonly scope: Scope } | null;
  /** Why the server did not take the answer. */
  readonly refused: string | null;
  readonly outcome: Pick<ApprovalResolved, 'decision' | 'scope' | 'by'> | null;
}

export interface NoteItem {
  readonly kind: 'note';
  readonly id: string;
  readonly level: 'info' | 'warning' | 'error';
  readonly text: string;
  readonly error: Problem | null;
}

/** The turn in progress. There is at most one. */
export function running(view: View): Turn | null {
  return view.turns.find((turn) => turn.status === 'running') ?? null;
}

/**
 * Names the folder that a turn runs in, where the person could doubt which: null with one folder open, or before it has begun.
 * A name that two folders share says nothing, and a folder that the window does not know has none: then it is the path.
 */
export function folderName({ folders, workspace }: Turn): string | null {
  if (workspace === null || folders.length < 2) return null;
  const name = folders.find((each) => each.path === workspace)?.name;
  return name !== undefined && folders.filter((each) => each.name === name).length === 1 ? name : workspace;
}

/** Questions that still wait for the person, oldest first. */
export function pending(view: Pick<View, 'turns'>): readonly ApprovalItem[] {
  return view.turns.flatMap((turn) => turn.items.filter((item) => item.kind === 'approval' && isOpen(item)) as ApprovalItem[]);
}

const RUNS_PROGRAMS: readonly string[] = ['run_command', 'run_tests'];

/** The codes of calls whose program ran, and was stopped at a limit. */
const STOPPED: readonly ErrorCode[] = ['timed_out', 'stopped'];

/** Whether a call ran a program, to its end or to a limit. */
export function ranProgram({ error, tool }: ToolResultEvent): boolean {
  return (error === null || STOPPED.includes(error.code)) && RUNS_PROGRAMS.includes(tool);
}

/** Whether a call did what it was for: a program that it ran has ended, and not with an error. */
export function wentWell({ ok, data, exit_code }: ToolResultEvent): boolean {
  return ok && data['passed'] !== false && (exit_code === null || exit_code === 0);
}

export function isOpen(item: ApprovalItem): boolean {
  return item.outcome === null;
}

export function findApproval(view: View, approvalId: string): ApprovalItem | null {
  for (const turn of view.turns) {
    for (const item of turn.items) {
      if (item.kind === 'approval' && item.id === approvalId) return item;
    }
  }
  return null;
}

/** Whether the person may have turned to something else while this turn ran. */
export function tookLong({ started, ended }: Pick<Turn, 'started' | 'ended'>): boolean {
  return started !== null && ended !== null && Date.parse(ended) - Date.parse(started) > LONG_TURN_MS;
}

/** Whether the turn has already told this problem. */
export function tells(turn: Turn, problem: Problem): boolean {
  return turn.items.some((item) => item.kind === 'note' && item.error?.what === problem.what && item.error.why === problem.why);
}

export function count(n: number, noun: string): string {
  return `${n.toLocaleString('en')} ${noun}${n === 1 ? '' : 's'}`;
}
