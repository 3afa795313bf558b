// One chat: asks the server, stops turns, answers questions and keeps the view. Knows the server as a port and nothing of VS Code.
import type {
  AgentEvent, ApprovalAnswer, ApprovalReceipt, CallInput, ChatReply, ContextPayload, RunRequest, RunResult, ToolResultEvent,
} from '../contract';
import type { Problem } from '../problem';
import { attach, attachmentName, type Attachments } from './attached';
import type { LeftOutParts } from './parts';
import { EMPTY, reduce, type Change } from './reduce';
import { findApproval, running, type Choice, type Folder, type Turn, type View } from './view';

export interface ServerPort {
  /** Runs one turn; rejects with a `Problem`. Events come in order, `run_completed` last. */
  run(request: RunRequest, onEvent: (event: AgentEvent) => void, signal: AbortSignal): Promise<RunResult>;
  answer(answer: ApprovalAnswer): Promise<ApprovalReceipt>;
  /** Reads a line typed in the chat: returns the answer of a command, or the input to run. */
  read(text: string, session: string): Promise<ChatReply>;
  /** Loads a stored session as turns to show. */
  load(session: string): Promise<readonly Turn[]>;
  /** Copies a session up to and including a turn, or up to before it. Returns the new session's id, or null if nothing is left to copy. */
  fork(session: string, turn: string, withTurn: boolean): Promise<string | null>;
}

export interface Conversation {
  readonly view: () => View;
  /** Asks and returns true; returns false and does nothing if the text is empty or a turn is running. */
  readonly ask: (text: string, context: ContextPayload | null, attachments?: Attachments) => boolean;
  readonly stop: () => void;
  readonly answer: (approvalId: string, choice: Choice) => Promise<void>;
  /** Sets which parts of a question an "allow" leaves out. */
  readonly leaveOut: (approvalId: string, parts: LeftOutParts) => void;
  /** Notes which files of a question the person has read. */
  readonly read: (approvalId: string, paths: readonly string[]) => void;
  /**
   * Runs a tool call of another agent as a turn of a session of its own, which is shown and asked about like any other turn (EDI-11).
   * Returns the call's result, or null if the call never ran. Rejects with a `Problem`, also while another turn runs.
   */
  readonly call: (input: CallInput, context: ContextPayload | null, signal: AbortSignal) => Promise<ToolResultEvent | null>;
  /** Stops the running turn and starts a new session. */
  readonly clear: () => void;
  readonly session: () => string;
  /** Stops the running turn, continues a stored session and shows its turns. */
  readonly resume: (sessionId: string) => Promise<void>;
  /** Continues a stored session, unless the chat has turns by then or the session no longer exists. */
  readonly restore: (sessionId: string) => Promise<void>;
  /** Continues in a copy of the session up to and including a turn, or up to before it. Does nothing while a turn runs. */
  readonly fork: (turnId: string, withTurn: boolean) => Promise<void>;
}

const BUSY: Problem = {
  code: 'invalid_request', what: 'the call was not made', why: 'Remit is working on something else', fix: 'call again when it has finished',
};

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

  const ask = (text: string, context: ContextPayload | null, attachments: Attachments = []): boolean => {
    const prompt = text.trim();
    if (!prompt || running(view)) return false;
    const turn_id = newId();
    abort = new AbortController();
    apply({ type: 'asked', session_id: session, turn_id, prompt, attached: attachments.map(attachmentName), folders: openFolders() });
    void follow({ prompt, turn_id, context, attachments }, abort.signal)
      .catch((error: Problem) => apply({ type: 'ended', turn_id, result: null, error }));
    return true;
  };

  const follow = async ({ prompt, turn_id, context, attachments }: Message, signal: AbortSignal): Promise<void> => {
    const asked = session;
    const { session_id, text, input, model, loads, clears } = await server.read(prompt, asked);
    if (signal.aborted || session !== asked) return apply({ type: 'told', turn_id, text: '', status: 'cancelled' });
    session = session_id;
    if (model !== null) apply({ type: 'model_chosen', model });
    if (loads) return resume(session_id);
    if (clears) return apply({ type: 'cleared' });
    if (input.length === 0) return apply({ type: 'told', turn_id, text, status: 'completed' });
    const request: RunRequest = { session_id, turn_id, input: attach(input, attachments), context, model };
    const result = await server.run(request, (event) => apply({ type: 'event', event }), signal);
    apply({ type: 'ended', turn_id, result, error: null });
  };

  let callsSession: string | null = null;
  const call = async (input: CallInput, context: ContextPayload | null, signal: AbortSignal): Promise<ToolResultEvent | null> => {
    if (running(view)) throw BUSY;
    const session_id = callsSession ??= newId();
    const turn_id = newId();
    const own = new AbortController();
    abort = own;
    const stop = (): void => own.abort();
    signal.addEventListener('abort', stop, { once: true });
    apply({ type: 'asked', session_id, turn_id, prompt: `Another agent calls ${input.tool}`, attached: [], folders: openFolders() });
    let found: ToolResultEvent | null = null;
    try {
      const result = await server.run({ session_id, turn_id, input: { ...input, by: 'model' }, context }, (event) => {
        if (event.kind === 'tool_result' && event.tool === input.tool) found = event;
        apply({ type: 'event', event });
      }, own.signal);
      apply({ type: 'ended', turn_id, result, error: null });
      return found;
    } catch (error) {
      apply({ type: 'ended', turn_id, result: null, error: error as Problem });
      throw error;
    } finally {
      signal.removeEventListener('abort', stop);
    }
  };

  const leaveOut = (approvalId: string, parts: LeftOutParts): void => {
    if (findApproval(view, approvalId)?.question.by_hunk) apply({ type: 'left_out', approval_id: approvalId, left_out: parts });
  };

  const read = (approvalId: string, paths: readonly string[]): void => apply({ type: 'read', approval_id: approvalId, paths });

  const answer = async (approvalId: string, choice: Choice): Promise<void> => {
    const item = findApproval(view, approvalId);
    if (!item || item.outcome || item.answer) return;
    const left_out = choice.decision === 'allow' ? item.left_out : [];
    if (left_out.length > 0 && choice.scope !== 'once') return;
    apply({ type: 'answered', approval_id: approvalId, decision: choice.decision, scope: choice.scope });
    const receipt = await server
      .answer({ approval_id: approvalId, ...choice, left_out, digest: item.question.digest })
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

  const restore = async (sessionId: string): Promise<void> => {
    const turns = await server.load(sessionId).catch((): readonly Turn[] => []);
    if (turns.length === 0 || view.turns.length > 0) return;
    session = sessionId;
    apply({ type: 'loaded', turns });
  };

  const fork = async (turnId: string, withTurn: boolean): Promise<void> => {
    if (running(view)) return;
    const copy = await server.fork(session, turnId, withTurn);
    if (copy === null) clear();
    else await resume(copy);
  };

  return { view: () => view, ask, stop: () => abort.abort(), answer, leaveOut, read, call, clear, session: () => session, resume, restore, fork };
}

interface Message {
  readonly prompt: string;
  readonly turn_id: string;
  readonly context: ContextPayload | null;
  readonly attachments: Attachments;
}
