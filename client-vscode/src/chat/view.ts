// What the chat shows, as one value, and questions about that value (EDI-01). `reduce.ts` says how it changes.
import type {
  ApprovalRequired, ErrorCode, FileOutcome, Intent,
  JsonValue, RunResult, Scope, TokenUsage, ToolResultEvent,
} from '../contract';
import type { Problem } from '../problem';
import type { Outcome } from './outcome';
import type { LeftOutParts } from './parts';
import type { ContextUse } from './usage';

const LONG_TURN_MS = 30_000;

export interface View {
  readonly turns: readonly Turn[];
  readonly model: string | null;
  /** The workflow standing as the last `state_changed` event gave it; null until such an event comes. */
  readonly standing: Standing | null;
  /** How full the model's window was at the last request. */
  readonly context: ContextUse | null;
}

/** The mode of the workflow, its current state, and what that state allows, in the server's words (FLW-06). */
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
  /** The names of the attachments. */
  readonly attached: readonly string[];
  /** The folders that were open when the person asked. */
  readonly folders: readonly Folder[];
  /** The absolute path of the folder that the server runs the turn in, as the server gives it. */
  readonly workspace: string | null;
  /** The last event's number; events are numbered from 1 without gaps. */
  readonly seq: number;
  readonly status: 'running' | RunResult['status'];
  /** Why nothing was done, or not everything. */
  readonly reason: string | null;
  /** The sentence that the model would follow if the next message were a yes (MOD-29). */
  readonly suggestion: string | null;
  readonly items: readonly Item[];
  /** The files that the turn changed. */
  readonly changes: readonly FileOutcome[];
  /** The command that takes the turn's changes back; null if nothing was kept to do so. */
  readonly taken_back_by: RunResult['taken_back_by'];
  readonly usage: TokenUsage | null;
  /** How much of the step's prompt the model has read, in percent; null again as soon as another event comes. */
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
  /** The call that started the sub-agent which declared this intent; null if the turn itself did. */
  readonly sub_agent: string | null;
}

export interface ToolItem {
  readonly kind: 'tool';
  readonly id: string;
  readonly tool: string;
  readonly arguments: { readonly [key: string]: JsonValue };
  /** The last part of the output of the call's command. */
  readonly printed: string;
  readonly result: ToolResultEvent | null;
  /** As in `IntentItem`. */
  readonly sub_agent: string | null;
}

/** The person's answer; the comment is for the model. */
export interface Choice {
  readonly decision: 'allow' | 'deny';
  readonly scope: Scope;
  readonly comment?: string | null;
}

export interface ApprovalItem {
  readonly kind: 'approval';
  readonly id: string;
  readonly question: ApprovalRequired;
  /** The parts that an "allow" leaves out. */
  readonly left_out: LeftOutParts;
  /** The files whose change the person has read elsewhere: in the file, or as a diff. */
  readonly read: readonly string[];
  /** The person's answer; it counts only once the server has resolved the question. */
  readonly answer: { readonly decision: 'allow' | 'deny'; readonly scope: Scope } | null;
  /** Why the server did not accept the answer. */
  readonly refused: string | null;
  readonly outcome: Outcome | null;
}

export interface NoteItem {
  readonly kind: 'note';
  readonly id: string;
  readonly level: 'info' | 'warning' | 'error';
  readonly text: string;
  readonly error: Problem | null;
}

/** Returns the running turn. There is at most one. */
export function running(view: View): Turn | null {
  return view.turns.find((turn) => turn.status === 'running') ?? null;
}

/**
 * Names the folder that a turn runs in. Returns null if only one folder is open or the turn has not started.
 * Returns the path if two folders share the name, or if the window does not know the folder.
 */
export function folderName({ folders, workspace }: Turn): string | null {
  if (workspace === null || folders.length < 2) return null;
  const name = folders.find((each) => each.path === workspace)?.name;
  return name !== undefined && folders.filter((each) => each.name === name).length === 1 ? name : workspace;
}

/** The files that are gone by what the turns say they have changed: their paths, by the folder of the turns. */
export function goneFiles(turns: readonly Turn[]): ReadonlyMap<string | null, ReadonlySet<string>> {
  const gone = new Map<string | null, Set<string>>();
  for (const { workspace, changes } of turns) {
    const files = gone.get(workspace) ?? new Set();
    for (const { path, how, moved_from } of changes) {
      if (moved_from !== null) files.add(moved_from);
      if (how === 'deleted') files.add(path);
      else files.delete(path);
    }
    gone.set(workspace, files);
  }
  return gone;
}

/** The questions that still wait for the person, oldest first. */
export function pending(view: Pick<View, 'turns'>): readonly ApprovalItem[] {
  return view.turns.flatMap((turn) => turn.items.filter((item) => item.kind === 'approval' && isOpen(item)) as ApprovalItem[]);
}

/** Whether a text is the command of the chat about the running turn, which is sent while that turn runs (BG-08). */
export function isAboutRunning(text: string): boolean {
  return text.trim() === '/background';
}

export const RUNS_PROGRAMS: readonly string[] = ['run_command', 'run_tests'];

/** The error codes of calls whose program ran and was stopped at a limit. */
const STOPPED: readonly ErrorCode[] = ['timed_out', 'stopped'];

/** Whether a call ran a program, to its end or until a limit stopped it. */
export function ranProgram({ error, tool }: ToolResultEvent): boolean {
  return (error === null || STOPPED.includes(error.code)) && RUNS_PROGRAMS.includes(tool);
}

/** Whether a call succeeded; if it ran a program, the program must have ended without an error. */
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

/** Whether this turn ran so long that the person may have turned to something else. */
export function tookLong({ started, ended }: Pick<Turn, 'started' | 'ended'>): boolean {
  return started !== null && ended !== null && Date.parse(ended) - Date.parse(started) > LONG_TURN_MS;
}

/** Whether the turn already shows this problem. */
export function tells(turn: Turn, problem: Problem): boolean {
  return turn.items.some((item) => item.kind === 'note' && item.error?.what === problem.what && item.error.why === problem.why);
}

export function count(n: number, noun: string): string {
  return `${n.toLocaleString('en')} ${noun}${n === 1 ? '' : 's'}`;
}
