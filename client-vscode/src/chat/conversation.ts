// One chat: asks, stops, answers, and keeps the view. Knows the server as a port and nothing of VS Code.
import type {
  AgentEvent, ApprovalAnswer, ApprovalReceipt, ContextPayload, RunRequest, RunResult, Scope,
} from '../contract';
import type { Problem } from '../problem';
import { EMPTY, findApproval, reduce, running, type Change, type Folder, type Turn, type View } from './view';

export interface ServerPort {
  /** Runs one turn; rejects with a `Problem`. Events come in order, `run_completed` last. */
  run(request: RunRequest, onEvent: (event: AgentEvent) => void, signal: AbortSignal): Promise<RunResult>;
  answer(answer: ApprovalAnswer): Promise<ApprovalReceipt>;
}

export interface Conversation {
  readonly view: () => View;
  /** Asks, unless a turn is running: then it does nothing and returns false. */
  readonly ask: (text: string, context: ContextPayload | null) => boolean;
  readonly stop: () => void;
  readonly answer: (approvalId: string, decision: 'allow' | 'deny', scope: Scope) => Promise<void>;
  /** Stops what runs and starts a new session. */
  readonly clear: () => void;
  readonly session: () => string;
  /** Stops what runs and goes on with a session that was kept; draws its turns. */
  readonly resume: (sessionId: string, turns: readonly Turn[]) => void;
}

export function openConversation(
  server: ServerPort,
  changed: (change: Change, view: View) => void,
  newId: () => string,
  openFolders: () => readonly Folder[],
): Conversation {
  let view = EMPTY;
  let session = newId();
  let abort = new AbortController();

  const apply = (change: Change): void => {
    const next = reduce(view, change);
    if (next === view) return;
    view = next;
    changed(change, view);
  };

  const ask = (text: string, context: ContextPayload | null): boolean => {
    const prompt = text.trim();
    if (!prompt || running(view)) return false;
    const request: RunRequest = {
      session_id: session, turn_id: newId(), input: { type: 'text', text: prompt }, context,
    };
    abort = new AbortController();
    apply({ type: 'asked', session_id: session, turn_id: request.turn_id, prompt, folders: openFolders() });
    server.run(request, (event) => apply({ type: 'event', event }), abort.signal).then(
      (result) => apply({ type: 'ended', turn_id: request.turn_id, result, error: null }),
      (error: Problem) => apply({ type: 'ended', turn_id: request.turn_id, result: null, error }),
    );
    return true;
  };

  const answer = async (approvalId: string, decision: 'allow' | 'deny', scope: Scope): Promise<void> => {
    const item = findApproval(view, approvalId);
    if (!item || item.outcome || item.answer) return;
    apply({ type: 'answered', approval_id: approvalId, decision, scope });
    const receipt = await server
      .answer({ approval_id: approvalId, decision, scope, digest: item.question.digest })
      .catch((problem: Problem): ApprovalReceipt => ({ accepted: false, reason: problem.what }));
    apply({ type: 'receipt', approval_id: approvalId, receipt });
  };

  const clear = (): void => {
    abort.abort();
    session = newId();
    apply({ type: 'cleared' });
  };

  const resume = (sessionId: string, turns: readonly Turn[]): void => {
    abort.abort();
    session = sessionId;
    apply({ type: 'loaded', turns });
  };

  return { view: () => view, ask, stop: () => abort.abort(), answer, clear, session: () => session, resume };
}
