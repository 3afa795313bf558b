// One chat: asks, stops, answers, and keeps the view. Knows the server as a port and nothing of VS Code.
import type {
  AgentEvent, ApprovalAnswer, ApprovalReceipt, ChatReply, ContextPayload, RunRequest, RunResult,
} from '../contract';
import type { Problem } from '../problem';
import { EMPTY, findApproval, reduce, running, type Change, type Choice, type Folder, type Turn, type View } from './view';

export interface ServerPort {
  /** Runs one turn; rejects with a `Problem`. Events come in order, `run_completed` last. */
  run(request: RunRequest, onEvent: (event: AgentEvent) => void, signal: AbortSignal): Promise<RunResult>;
  answer(answer: ApprovalAnswer): Promise<ApprovalReceipt>;
  /** What a line typed in the chat comes to: a command's answer, or what to run. */
  read(text: string, session: string): Promise<ChatReply>;
  /** A session that was kept, as turns to be shown. */
  load(session: string): Promise<readonly Turn[]>;
}

export interface Conversation {
  readonly view: () => View;
  /** Asks, unless a turn is running: then it does nothing and returns false. */
  readonly ask: (text: string, context: ContextPayload | null) => boolean;
  readonly stop: () => void;
  readonly answer: (approvalId: string, choice: Choice) => Promise<void>;
  /** Stops what runs and starts a new session. */
  readonly clear: () => void;
  readonly session: () => string;
  /** Stops what runs and goes on with a session that was kept; draws its turns. */
  readonly resume: (sessionId: string) => Promise<void>;
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
    const turn_id = newId();
    abort = new AbortController();
    apply({ type: 'asked', session_id: session, turn_id, prompt, folders: openFolders() });
    void follow(prompt, turn_id, context, abort.signal)
      .catch((error: Problem) => apply({ type: 'ended', turn_id, result: null, error }));
    return true;
  };

  const follow = async (prompt: string, turn_id: string, context: ContextPayload | null, signal: AbortSignal): Promise<void> => {
    const asked = session;
    const { session_id, text, input, model, loads, clears } = await server.read(prompt, asked);
    if (signal.aborted || session !== asked) return apply({ type: 'told', turn_id, text: '', status: 'cancelled' });
    session = session_id;
    if (loads) return resume(session_id);
    if (clears) return apply({ type: 'cleared' });
    if (input.length === 0) return apply({ type: 'told', turn_id, text, status: 'completed' });
    const request: RunRequest = { session_id, turn_id, input, context, model };
    const result = await server.run(request, (event) => apply({ type: 'event', event }), signal);
    apply({ type: 'ended', turn_id, result, error: null });
  };

  const answer = async (approvalId: string, choice: Choice): Promise<void> => {
    const item = findApproval(view, approvalId);
    if (!item || item.outcome || item.answer) return;
    apply({ type: 'answered', approval_id: approvalId, decision: choice.decision, scope: choice.scope });
    const receipt = await server
      .answer({ approval_id: approvalId, ...choice, digest: item.question.digest })
      .catch((problem: Problem): ApprovalReceipt => ({ accepted: false, reason: problem.what }));
    apply({ type: 'receipt', approval_id: approvalId, receipt });
  };

  const clear = (): void => {
    abort.abort();
    session = newId();
    apply({ type: 'cleared' });
  };

  const resume = async (sessionId: string): Promise<void> => {
    const turns = await server.load(sessionId);
    abort.abort();
    session = sessionId;
    apply({ type: 'loaded', turns });
  };

  return { view: () => view, ask, stop: () => abort.abort(), answer, clear, session: () => session, resume };
}
