// Events as the server sends them, for tests. `events()` numbers them; each maker fills in the fields that a test does not care about.
import type { Asked } from '../src/chat/reduce';
import type { Folder } from '../src/chat/view';
import type { AgentEvent, ApprovalRequired, RunResult, ToolResultEvent } from '../src/contract';

/** An event as a test writes it, without the fields that all events have. */
export type Sent = Rest<AgentEvent>;
type Rest<E> = E extends AgentEvent ? Omit<E, 'seq' | 'session_id' | 'turn_id' | 'time' | 'step'> : never;

export const SESSION = 's1';
export const TURN = 't1';

export function asked(prompt = 'x', folders: readonly Folder[] = []): Asked {
  return { type: 'asked', session_id: SESSION, turn_id: TURN, prompt, attached: [], folders };
}

export function event(seq: number, rest: Sent): AgentEvent {
  return { seq, session_id: SESSION, turn_id: TURN, time: `2026-01-01T00:00:0${seq % 10}Z`, step: 1, ...rest } as AgentEvent;
}

export function events(...all: readonly Sent[]): readonly AgentEvent[] {
  return all.map((rest, index) => event(index + 1, rest));
}

export const started: Sent = { kind: 'run_started', model: 'built-in', workspace: '/w', sent_to: null, resumed: false };

export const call: Sent = {
  kind: 'tool_call', tool_call_id: 'c1', tool: 'edit_file', intent: 'WRITE_FILE', arguments: { path: 'a.py' },
};

export function question(given: Partial<ApprovalRequired> = {}): Rest<ApprovalRequired> {
  return {
    kind: 'approval_required', approval_id: 'a1', tool_call_id: 'c1', tool: 'edit_file', intent: 'WRITE_FILE',
    effect: 'write', digest: 'sha256:1', title: 'Edit a.py', reasons: [], diffs: [], argv: null, command: null,
    cwd: null, hosts: [], near: null, risk: 'medium', scopes: ['once', 'session'],
    session_rule: 'edit_file on a.py', always_rule: null, everywhere_rule: null, session_name: null, by_hunk: false, step_call: 1, step_calls: 1, asked_by: null, deadline: '2026-01-01T00:05:00Z', ...given,
    edits_rule: null,
  };
}

export function toolResult(given: Partial<ToolResultEvent> = {}): Rest<ToolResultEvent> {
  return {
    kind: 'tool_result', tool_call_id: 'c1', tool: 'edit_file', ok: true, summary: 'done', output: 'done', data: {}, error: null,
    decision: 'allowed', answer: null, rules: ['writes'], reasons: [], changed_files: [], exit_code: null, duration_ms: 3, ...given,
  };
}

export function result(given: Partial<RunResult> = {}): RunResult {
  return {
    session_id: SESSION, turn_id: TURN, status: 'completed', final_output: null, reason: null, suggestion: null, usage: null,
    tool_trace: [], changes: [], taken_back_by: null, error: null, ...given,
  };
}

export function completed(given: Partial<RunResult> = {}): Sent {
  return { kind: 'run_completed', result: result(given) };
}
