// Generated from the server's contract by `python -m remit_server.schemas_export`: do not edit.

export const PROTOCOL = 1;

export type JsonValue =
  | null | boolean | number | string
  | readonly JsonValue[]
  | { readonly [key: string]: JsonValue };

/**
 * What an editor can offer to have the model do: rename a name in a file, explain code in words, change code as it
 * is told, complete at the cursor.
 */
export type Ability = "rename" | "explain" | "edit" | "complete";

export type AgentEvent =
  | RunStarted
  | IntentSelected
  | TokenDelta
  | ThinkingDelta
  | PromptProgress
  | ToolCallEvent
  | ToolOutput
  | CommandWaits
  | ProcessChanged
  | ToolResultEvent
  | ApprovalRequired
  | ApprovalResolved
  | StateChanged
  | ReviewRequired
  | ReviewResolved
  | ContextCondensed
  | UsageEvent
  | WarningEvent
  | ErrorEvent
  | RunCompleted;

/**
 * `remit/approval/respond`: the person's answer to one question.
 *
 * If the question is `by_hunk`, an `allow` for once may leave out parts of what was shown; if it leaves out all of
 * them, it is a `deny`. `comment` is for the model, with either decision.
 */
export interface ApprovalAnswer {
  readonly approval_id: string;
  readonly decision: "allow" | "deny";
  readonly scope?: Scope;
  readonly digest?: string | null;
  readonly left_out?: readonly LeftOut[];
  readonly comment?: string | null;
}

/** What became of an answer; `accepted` is false for one that was replayed, expired or crossed. */
export interface ApprovalReceipt {
  readonly accepted: boolean;
  readonly reason: string | null;
}

/**
 * A question to the person. `digest` covers exactly what will run; no answer by `deadline` is a deny.
 *
 * `title` is one short line; `command`, which may have several lines, and `diffs` show everything. `hosts` are the
 * hosts that a command may reach, and `near` names the process in the background whose ports it reaches. Hidden
 * characters are spelled out in all of these.
 *
 * `session_rule` says in words what an answer for the session would remember, `edits_rule` what an answer for every
 * edit would. `always_rule` is the rule that an answer for good in this workspace would write, as it will stand in the
 * person's permission file; `everywhere_rule` is that of an answer for good in every workspace. `session_name` names
 * the session that asks, if the server holds more than one. `by_hunk` says that an answer may leave out hunks or
 * files. The call is number `step_call` of the `step_calls` that its step made besides intents; the calls after it may
 * ask as well. `asked_by` is one line about the work of the sub-agent that made the call; null if no sub-agent did.
 */
export interface ApprovalRequired {
  readonly seq: number;
  readonly session_id: string;
  readonly turn_id: string;
  readonly time: string;
  readonly step: number;
  readonly sub_agent?: string | null;
  readonly kind: "approval_required";
  readonly approval_id: string;
  readonly tool_call_id: string;
  readonly tool: string;
  readonly intent: Intent | null;
  readonly effect: Effect;
  readonly digest: string;
  readonly title: string;
  readonly reasons: readonly ReasonPayload[];
  readonly diffs: readonly FileDiff[];
  readonly argv: readonly string[] | null;
  readonly command: string | null;
  readonly cwd: string | null;
  readonly hosts: readonly string[];
  readonly near: string | null;
  readonly risk: "low" | "medium" | "high";
  readonly scopes: readonly Scope[];
  readonly session_rule: string | null;
  readonly edits_rule: string | null;
  readonly always_rule: string | null;
  readonly everywhere_rule: string | null;
  readonly session_name: string | null;
  readonly by_hunk: boolean;
  readonly step_call: number;
  readonly step_calls: number;
  readonly asked_by: string | null;
  readonly deadline: string;
}

/**
 * How the question ended and who answered.
 *
 * With `standing_answer` and `review` there was no question, and `approval_id` is the call's id: what decided was an
 * answer given before, or the review of the work in strict mode, and then `reason` says whose review it was.
 * `beforehand` is a yes that the command line gave (`--approve session`). A question is `withdrawn` if a file that it
 * was about was renamed, deleted or made meanwhile.
 */
export interface ApprovalResolved {
  readonly seq: number;
  readonly session_id: string;
  readonly turn_id: string;
  readonly time: string;
  readonly step: number;
  readonly sub_agent?: string | null;
  readonly kind: "approval_resolved";
  readonly approval_id: string;
  readonly decision: "allow" | "deny";
  readonly scope: Scope;
  readonly by: "person" | "beforehand" | "standing_answer" | "review" | "deadline" | "disconnected" | "unavailable" | "cancelled" | "withdrawn";
  readonly reason: string | null;
}

/** One answer of the model; its calls follow, a `tool_call` each. The model took `duration_ms` for it. */
export interface AssistantSaid {
  readonly timestamp: string;
  readonly turn_id: string;
  readonly type: "assistant";
  readonly step: number;
  readonly content: string;
  readonly provider: string;
  readonly model: string;
  readonly tokens: TokenCounts;
  readonly duration_ms: number;
}

/**
 * How the approval that a call needed was settled; see `ApprovalResolved`. `approval_id` is the question's id, or
 * the call's if nobody was asked.
 */
export interface CallAnswer {
  readonly approval_id: string;
  readonly decision: "allow" | "deny";
  readonly scope: Scope;
  readonly by: "person" | "beforehand" | "standing_answer" | "review" | "deadline" | "disconnected" | "unavailable" | "cancelled" | "withdrawn";
}

/** How a call ended; `output` is what the model was told. If an id has several records, the last one counts. */
export interface CallEnded {
  readonly timestamp: string;
  readonly turn_id: string;
  readonly type: "tool_result";
  readonly id: string;
  readonly name: string;
  readonly success: boolean;
  readonly output: string;
  readonly summary: string;
  readonly intent: Intent | null;
  readonly decision: string;
  readonly answer?: CallAnswer | null;
  readonly rules: readonly string[];
  readonly error: string | null;
  readonly changed_files: readonly string[];
  readonly exit_code: number | null;
  readonly duration_ms: number;
}

/**
 * A tool call that Remit's model did not make. It passes the same dispatcher and the same rules.
 *
 * It is the person's own (`!command`, `run-tool`), or, with `by` `model`, a call of another agent's model, which
 * policy judges as a model's call. `typed` says that the person typed this very command, which answers the question
 * that policy would ask (APP-17). `work_item` is declared with the intent.
 */
export interface CallInput {
  readonly type?: "call";
  readonly tool: string;
  readonly arguments?: { readonly [key: string]: JsonValue };
  readonly intent?: Intent | null;
  readonly by?: "person" | "model";
  readonly typed?: boolean;
  readonly work_item?: string | null;
}

/**
 * A call of the model, of the person, of Remit itself, which has collected edits reviewed, or of a sub-agent, which
 * got its work from the call `parent`.
 */
export interface CallMade {
  readonly timestamp: string;
  readonly turn_id: string;
  readonly type: "tool_call";
  readonly id: string;
  readonly name: string;
  readonly arguments: { readonly [key: string]: JsonValue };
  readonly caller: "model" | "person" | "remit" | "sub_agent";
  readonly parent?: string | null;
}

/**
 * One file from `before` to `after`, which are digests of kept contents; null if there is no file.
 *
 * `executable` says whether it was executable before and is afterwards; null if that does not matter.
 */
export interface ChangedFile {
  readonly path: string;
  readonly before: string | null;
  readonly after: string | null;
  readonly executable: readonly [boolean, boolean] | null;
  readonly moved_from: string | null;
}

/** A completion: `text` replaces the typed text from character `start` (in UTF-16 units) to its end. */
export interface ChatProposal {
  readonly text: string;
  readonly start: number;
  readonly meaning: string;
}

/**
 * The result of one line. `text` is Markdown to show; `input` is what to run in `session_id`, with `model`.
 *
 * `loads` says that the chat goes on with the session `session_id`, whose messages are to be shown; `clears` that it
 * is a new session; `leaves` that the person wants to leave.
 */
export interface ChatReply {
  readonly session_id: string;
  readonly text: string;
  readonly input: readonly (TextInput | CallInput)[];
  readonly model: string | null;
  readonly loads: boolean;
  readonly clears: boolean;
  readonly leaves: boolean;
}

/** A command waits for its turn, is paused for something more urgent, or goes on; `means` says so for the person. */
export interface CommandWaits {
  readonly seq: number;
  readonly session_id: string;
  readonly turn_id: string;
  readonly time: string;
  readonly step: number;
  readonly sub_agent?: string | null;
  readonly kind: "command_waits";
  readonly tool_call_id: string;
  readonly wait: "queued" | "started" | "paused" | "resumed";
  readonly means: string;
}

/**
 * Completion at the cursor, if it is switched on: the model that does it, the reason if it offers nothing now, and
 * how often it offered something since the server began.
 */
export interface CompletionState {
  readonly model: string;
  readonly why_not: string | null;
  readonly offered: number;
}

/**
 * The conversation came near the end of the model's window, so a shorter form of it is sent now. All of it is kept.
 *
 * Tokens are estimated by the model's own counts; `summary` is the model's summary of the part that is not sent.
 */
export interface ContextCondensed {
  readonly seq: number;
  readonly session_id: string;
  readonly turn_id: string;
  readonly time: string;
  readonly step: number;
  readonly sub_agent?: string | null;
  readonly kind: "context_condensed";
  readonly before_tokens: number;
  readonly after_tokens: number;
  readonly window: number;
  readonly summary: string;
}

/** What the editor shows right now. */
export interface ContextPayload {
  readonly open_document?: string | null;
  readonly cursor?: Position | null;
  readonly visible_range?: Selection | null;
  readonly workspace_folder?: string | null;
}

/** The problems that the editor, or else a language server, finds in a file or folder, or in the whole workspace. */
export interface DiagnosticsAttachment {
  readonly pinned?: boolean;
  readonly type?: "diagnostics";
  readonly path?: string | null;
}

/** An effect of a tool on the world; declared by the tool, used by the intent matrix. */
export type Effect = "read" | "write" | "execute" | "network" | "control";

/** Every code an error can carry, on any transport. */
export type ErrorCode =
  | "invalid_request"
  | "invalid_arguments"
  | "unknown_tool"
  | "intent_required"
  | "tool_not_allowed_for_intent"
  | "tool_unavailable"
  | "outside_workspace"
  | "not_found"
  | "not_a_file"
  | "binary_file"
  | "too_large"
  | "not_unique"
  | "no_match"
  | "denied"
  | "approval_denied"
  | "approval_expired"
  | "approval_unavailable"
  | "dry_run"
  | "stale"
  | "outcome_unknown"
  | "read_only"
  | "sandbox_unavailable"
  | "command_failed"
  | "timed_out"
  | "stopped"
  | "cancelled"
  | "model_unavailable"
  | "model_failed"
  | "limit_reached"
  | "policy_invalid"
  | "audit_broken"
  | "busy"
  | "internal";

/** Something that ends the step or the turn. */
export interface ErrorEvent {
  readonly seq: number;
  readonly session_id: string;
  readonly turn_id: string;
  readonly time: string;
  readonly step: number;
  readonly sub_agent?: string | null;
  readonly kind: "error";
  readonly error: ErrorPayload;
}

/** An error as a person reads it: what happened, why, and what to do. */
export interface ErrorPayload {
  readonly code: ErrorCode;
  readonly message: string;
  readonly retryable: boolean;
  readonly what: string;
  readonly why: string;
  readonly fix: string;
}

/**
 * Limits for one run. They may only tighten what the configuration says.
 *
 * In a `dry_run` everything but reading is shown and not done. A `mode` that is stricter than the session's holds the
 * session to it from here on; a looser one is refused.
 */
export interface ExecutionPolicy {
  readonly max_steps?: number | null;
  readonly timeout_s?: number | null;
  readonly allow_tools?: readonly string[] | null;
  readonly dry_run?: boolean;
  readonly mode?: "strict" | "explore" | "debug" | null;
}

/** A file, which is read as the person's own call; `path` is relative to the workspace. */
export interface FileAttachment {
  readonly pinned?: boolean;
  readonly type?: "file";
  readonly path: string;
}

/**
 * A proposed change to one file, as a unified diff with hostile characters made visible.
 *
 * A file that is only moved has no diff. `hunks` is the number of hunks that a person may take one by one, or 0 if the
 * diff is taken as a whole.
 */
export interface FileDiff {
  readonly path: string;
  readonly diff: string;
  readonly before_digest: string | null;
  readonly after_digest: string | null;
  readonly created: boolean;
  readonly deleted: boolean;
  readonly moved_from: string | null;
  readonly hunks: number;
}

/**
 * A file that a turn has changed, with the numbers of added and removed lines; these are null if the file is no
 * text or too large.
 */
export interface FileOutcome {
  readonly path: string;
  readonly how: "created" | "changed" | "deleted" | "moved";
  readonly moved_from: string | null;
  readonly added: number | null;
  readonly removed: number | null;
}

/**
 * A change set: what a call is about to change, written before it does.
 *
 * With `reverts`, it takes back what these turns changed: it is an undo, or a redo, which is the undo of an undo.
 */
export interface FilesChanged {
  readonly timestamp: string;
  readonly turn_id: string;
  readonly type: "changes";
  readonly id: string;
  readonly call_id: string;
  readonly files: readonly ChangedFile[];
  readonly reverts: readonly string[];
}

/** The session that this one was copied from, and the number of the last message that was copied. */
export interface ForkedFrom {
  readonly session_id: string;
  readonly message: number;
}

/**
 * `remit/generate`: one answer of the model by itself, in a wanted format; it has no tools and sees no workspace.
 *
 * `output_format` may be a JSON Schema. With `content`, the model is asked `prompt` about that content.
 */
export interface GenerationRequest {
  readonly prompt: string;
  readonly content?: string | null;
  readonly instructions?: string | null;
  readonly output_format?: "text" | "string_list" | { readonly [key: string]: JsonValue };
  readonly max_tokens?: number;
}

/** The answer: a string, a list of strings, or a value of the schema. */
export interface GenerationResult {
  readonly result: JsonValue;
  readonly usage: TokenUsage;
}

/** The declaration of a step: what it is about to do (INT-01). */
export type Intent = "PLAN" | "CODE" | "ANALYZE" | "DEBUG" | "WRITE_FILE" | "READ_FILE" | "EXECUTE";

/** A step declared its intent. */
export interface IntentDeclared {
  readonly timestamp: string;
  readonly turn_id: string;
  readonly type: "intent";
  readonly step: number;
  readonly intent: Intent;
  readonly justification: string | null;
  readonly work_item: string | null;
}

/** Stage one: the step declared its intent (rule 2), or switched it (rule 4), for a work item if it named one. */
export interface IntentSelected {
  readonly seq: number;
  readonly session_id: string;
  readonly turn_id: string;
  readonly time: string;
  readonly step: number;
  readonly sub_agent?: string | null;
  readonly kind: "intent_selected";
  readonly intent: Intent;
  readonly justification: string | null;
  readonly previous: Intent | null;
  readonly allowed_tools: readonly string[];
  readonly work_item: string | null;
}

/** An exemption that was granted: its category, and the paths that it is for. */
export interface KeptExemption {
  readonly category: string;
  readonly paths: readonly string[];
}

/**
 * A place in the workflow: its digest stands in the audit record of the transition that led there. `before` is the
 * digest of the listing of the test files when the plan was complete; `passed_with` are digests by path, `tree` is
 * git's id of all that the tests passed with, `failing` the tests that failed then, as they did before.
 */
export interface KeptPosition {
  readonly version: 1;
  readonly mode: Mode;
  readonly state: State;
  readonly exemption: KeptExemption | null;
  readonly before: string | null;
  readonly red: KeptProof | null;
  readonly approved: readonly string[];
  readonly passed_with: { readonly [key: string]: string | null };
  readonly tree: string | null;
  readonly failing: readonly string[] | null;
}

/**
 * A failing run: the tests that failed as they should, all that failed, those that passed, the digest of the
 * listing of all test files, and the name of the last change that the session had made by then.
 */
export interface KeptProof {
  readonly proven: readonly string[];
  readonly failing: readonly string[];
  readonly passing: readonly string[];
  readonly locked: string;
  readonly since: string;
}

/**
 * A hunk of a shown diff that the person does not want, counted from 0, or with `hunk` null a whole file.
 *
 * `comment` is for the model.
 */
export interface LeftOut {
  readonly path: string;
  readonly hunk?: number | null;
  readonly comment?: string | null;
}

/** The modes, which say how much of the workflow a session is held to; the strictest first. */
export type Mode = "strict" | "explore" | "debug";

/** The model that a session begins with: who provides it, and its name. */
export interface ModelConfig {
  readonly provider: string;
  readonly model: string;
}

/**
 * What a local model's process holds now, and sums since it started.
 *
 * `cache_bytes` are held for the next step of each of the `sessions`. `hits` counts the generations that found part of
 * their prompt in this cache, and `shared` those that found it in another session's. `cached_tokens` of the prompts
 * came from the cache, and the model had to read the other `read_tokens`.
 */
export interface ModelStats {
  readonly sessions: number;
  readonly cache_bytes: number;
  readonly waiting: number;
  readonly running: number;
  readonly generations: number;
  readonly hits: number;
  readonly shared: number;
  readonly cached_tokens: number;
  readonly read_tokens: number;
  readonly generated_tokens: number;
  readonly tokens_per_s: number;
}

/** The session has this name from here on. */
export interface Named {
  readonly timestamp: string;
  readonly type: "name";
  readonly name: string;
}

/** Files of a change set that were left as they were after all. */
export interface NotChanged {
  readonly timestamp: string;
  readonly turn_id: string;
  readonly type: "not_changed";
  readonly id: string;
  readonly paths: readonly string[];
}

/** Texts that stay in the conversation when it is condensed. */
export interface Pinned {
  readonly timestamp: string;
  readonly turn_id: string;
  readonly type: "pinned";
  readonly texts: readonly string[];
}

/** A place in a document: zero-based line and UTF-16 character, as in LSP. */
export interface Position {
  readonly line: number;
  readonly character: number;
}

/** From here on, the model is sent `prefix` in place of the messages before number `upto`. */
export interface PrefixSent {
  readonly timestamp: string;
  readonly turn_id: string;
  readonly type: "condensed";
  readonly upto: number;
  readonly prefix: readonly SentMessage[];
}

/** A process in the background changed its state, perhaps between two turns; `means` says so for the person. */
export interface ProcessChanged {
  readonly seq: number;
  readonly session_id: string;
  readonly turn_id: string;
  readonly time: string;
  readonly step: number;
  readonly sub_agent?: string | null;
  readonly kind: "process_changed";
  readonly process: string;
  readonly state: "started" | "ready" | "published" | "ended";
  readonly means: string;
}

/**
 * A process that a session started in the background. `ports` are the ports that it listens on, `published` the
 * addresses at which this machine reaches it; `means` describes its state for the person.
 */
export interface ProcessStatus {
  readonly process: string;
  readonly command: string;
  readonly running: boolean;
  readonly ports: readonly number[];
  readonly published: readonly string[];
  readonly means: string;
}

/** The model has read `done` of the `total` tokens of the step's prompt. Its first word comes after the last one. */
export interface PromptProgress {
  readonly seq: number;
  readonly session_id: string;
  readonly turn_id: string;
  readonly time: string;
  readonly step: number;
  readonly sub_agent?: string | null;
  readonly kind: "prompt_progress";
  readonly done: number;
  readonly total: number;
}

/** A question to the person ended, after waiting for them for `waited_ms`. */
export interface QuestionAnswered {
  readonly timestamp: string;
  readonly turn_id: string;
  readonly type: "approval";
  readonly approval_id: string;
  readonly title: string;
  readonly decision: "allow" | "deny";
  readonly by: string;
  readonly scope: Scope;
  readonly waited_ms: number;
}

/** One rule's word on an action, with the place where it is written. */
export interface ReasonPayload {
  readonly rule: string | null;
  readonly layer: string;
  readonly action: string;
  readonly reason: string;
  readonly file: string | null;
  readonly line: number | null;
}

/** The addresses of one file's text as it is and as it would be, for `workspace/textDocumentContent`. */
export interface ReviewDocument {
  readonly path: string;
  readonly before: string;
  readonly after: string;
}

/** A part with its text: a hunk of a unified diff, or the whole diff of a file. */
export interface ReviewHunk {
  readonly path: string;
  readonly hunk: number | null;
  readonly line: number | null;
  readonly left_out: boolean;
  readonly comment: string | null;
  readonly text: string;
}

/** The answer to `remit/review/hunks`. */
export interface ReviewHunks {
  readonly approval_id: string;
  readonly digest: string;
  readonly by_hunk: boolean;
  readonly hunks: readonly ReviewHunk[];
}

/** `remit/review/hunks`: asks for the parts of one question, each with its text. */
export interface ReviewHunksRequest {
  readonly approval_id: string;
}

/** The answer to `remit/review/list`, the oldest question first. */
export interface ReviewList {
  readonly reviews: readonly WaitingReview[];
}

/** `remit/review/list`: asks for the waiting questions of one workspace folder, or of all if it is null. */
export interface ReviewListRequest {
  readonly workspace_folder?: string | null;
}

/** A hunk, or with `hunk` null a whole file; `line` is the first changed line of the present text. */
export interface ReviewPart {
  readonly path: string;
  readonly hunk: number | null;
  readonly line: number | null;
  readonly left_out: boolean;
  readonly comment: string | null;
}

/** Changes wait for a review of their hunks. */
export interface ReviewRequired {
  readonly seq: number;
  readonly session_id: string;
  readonly turn_id: string;
  readonly time: string;
  readonly step: number;
  readonly sub_agent?: string | null;
  readonly kind: "review_required";
  readonly review_id: string;
  readonly diffs: readonly FileDiff[];
}

/**
 * `remit/review/resolve`: the answer to one question. An `allow` is for once, a `deny` for the whole question.
 *
 * Without `left_out`, the parts that `remit.review.toggle` left out so far stay out. `comment` is for the model.
 */
export interface ReviewResolveRequest {
  readonly approval_id: string;
  readonly decision: "allow" | "deny";
  readonly digest?: string | null;
  readonly left_out?: readonly LeftOut[] | null;
  readonly comment?: string | null;
}

/** The person took a part of what was shown; `review_id` is the question's id. */
export interface ReviewResolved {
  readonly seq: number;
  readonly session_id: string;
  readonly turn_id: string;
  readonly time: string;
  readonly step: number;
  readonly sub_agent?: string | null;
  readonly kind: "review_resolved";
  readonly review_id: string;
  readonly accepted: number;
  readonly rejected: number;
}

/** Always the last event of a turn, exactly once. */
export interface RunCompleted {
  readonly seq: number;
  readonly session_id: string;
  readonly turn_id: string;
  readonly time: string;
  readonly step: number;
  readonly sub_agent?: string | null;
  readonly kind: "run_completed";
  readonly result: RunResult;
}

/**
 * One turn. The same `session_id` and `turn_id` given twice yield the first one's result.
 *
 * `input` is one part or several, worked off in order inside the one turn. `model` is the person's choice for this
 * turn and the session's later ones, as `REMIT_MODEL` takes it; the conversation goes on.
 */
export interface RunRequest {
  readonly session_id: string;
  readonly turn_id: string;
  readonly input: TextInput | CallInput | readonly (TextInput | CallInput)[];
  readonly context?: ContextPayload | null;
  readonly policy?: ExecutionPolicy | null;
  readonly model?: string | null;
  readonly metadata?: { readonly [key: string]: string } | null;
}

/**
 * How a turn ended.
 *
 * With `declined`, nothing that was asked for was done, and the model says so. With `denied`, nothing was done because
 * policy or the person refused it. For these two, `reason` says why; if something else was done, `reason` says what
 * was refused or failed last. `changes` are the files that differ from before the turn. `taken_back_by` names what
 * takes the changes back; null if nothing was kept to do so. `suggestion` is the sentence that the model would follow
 * if the next message were a yes; null if it asks no such question.
 */
export interface RunResult {
  readonly session_id: string;
  readonly turn_id: string;
  readonly status: "completed" | "declined" | "failed" | "cancelled" | "denied" | "timed_out";
  readonly final_output: string | null;
  readonly reason: string | null;
  readonly suggestion: string | null;
  readonly usage: TokenUsage | null;
  readonly tool_trace: readonly ToolTrace[];
  readonly changes: readonly FileOutcome[];
  readonly taken_back_by: "undo" | "redo" | null;
  readonly error: ErrorPayload | null;
}

/**
 * The turn was accepted. `sent_to` is the host that the conversation is sent to, null if it stays on this machine.
 *
 * `resumed` says that another process had begun the turn and is gone. If that process had only read, the turn is run
 * again from here on.
 */
export interface RunStarted {
  readonly seq: number;
  readonly session_id: string;
  readonly turn_id: string;
  readonly time: string;
  readonly step: number;
  readonly sub_agent?: string | null;
  readonly kind: "run_started";
  readonly model: string;
  readonly workspace: string;
  readonly sent_to: string | null;
  readonly resumed: boolean;
}

/**
 * For how long and where an answer holds; `edits` is for every edit of the session, `always` for good in this
 * workspace, `everywhere` in every one.
 */
export type Scope = "once" | "session" | "edits" | "always" | "everywhere";

/** A range in a document, end exclusive. */
export interface Selection {
  readonly start: Position;
  readonly end: Position;
}

/** Selected text the person attached. */
export interface SelectionAttachment {
  readonly pinned?: boolean;
  readonly type?: "selection";
  readonly path: string;
  readonly range: Selection;
  readonly text: string;
}

/** A call in a message that the model is sent. */
export interface SentCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: { readonly [key: string]: JsonValue };
}

/** A message as the model is sent it. `calls` are the assistant's; `call_id` and `tool` are a result's. */
export interface SentMessage {
  readonly role: "system" | "user" | "assistant" | "tool";
  readonly content: string;
  readonly calls: readonly SentCall[];
  readonly call_id: string;
  readonly tool: string;
}

/** The process that wrote the session ended. More may follow: a session can be taken up again. */
export interface SessionEnd {
  readonly timestamp: string;
  readonly type: "session_end";
  readonly reason: string;
  readonly message_count: number;
}

export type SessionRecord =
  | SessionStart
  | TurnStarted
  | SystemSaid
  | UserSaid
  | AssistantSaid
  | CallMade
  | CallEnded
  | IntentDeclared
  | QuestionAnswered
  | PrefixSent
  | Pinned
  | FilesChanged
  | NotChanged
  | WorkflowMoved
  | Warned
  | TurnEnded
  | Named
  | SessionEnd;

/** The first line of every file. */
export interface SessionStart {
  readonly timestamp: string;
  readonly type: "session_start";
  readonly session_id: string;
  readonly workspace: string;
  readonly config: ModelConfig;
  readonly remit: string;
  readonly forked_from: ForkedFrom | null;
}

/**
 * One line of a list of sessions. `title` is the beginning of the person's first words, `messages` counts theirs
 * and the model's; `name` is the one that the person gave it.
 */
export interface SessionSummary {
  readonly session_id: string;
  readonly file: string;
  readonly name: string | null;
  readonly title: string;
  readonly workspace: string;
  readonly started: string;
  readonly last_used: string;
  readonly messages: number;
  readonly turns: number;
  readonly model: string;
  readonly forked_from: string | null;
}

/** The states of a session's work. */
export type State =
  | "idle"
  | "planning"
  | "test_writing"
  | "code_writing"
  | "validating"
  | "reviewing"
  | "committing"
  | "exploring"
  | "retroactive_testing";

/** The session moved to another workflow state or mode; `means` says what may be written there and what leads on. */
export interface StateChanged {
  readonly seq: number;
  readonly session_id: string;
  readonly turn_id: string;
  readonly time: string;
  readonly step: number;
  readonly sub_agent?: string | null;
  readonly kind: "state_changed";
  readonly state: string;
  readonly mode: string;
  readonly means: string;
}

/**
 * `remit/status`: what a status bar shows.
 *
 * `model_loaded` is the share of a model's weights that is in memory, while it is loaded; `model_stats` is there while
 * a local model runs; `sent_to` is the host that conversations are sent to, null if they stay on this machine.
 * `abilities` are what the model can be asked for; an editor offers nothing else. `completion` is null if completion
 * at the cursor is off. `mode` and `state` are those of the session that was asked about, or else of the session used
 * last; `state_means` says what may be written in this state and what leads on, and `edits` when that session asks
 * about edits. `policy` is the version in force, `policy_layers` says in words what it is made of; `policy_problem`
 * says why it is not the version on disk, and `audit_problem` what was last found wrong with the audit log. `folders`
 * are the roots of all workspace folders that the client has open; each has its own status. `processes` are the
 * running background processes of the session, and the last of those that have ended.
 */
export interface StatusResult {
  readonly version: string;
  readonly protocol: number;
  readonly workspace: string | null;
  readonly folders: readonly string[];
  readonly model: string;
  readonly model_state: "stopped" | "starting" | "ready" | "busy" | "failed";
  readonly model_loaded: number | null;
  readonly model_stats: ModelStats | null;
  readonly sent_to: string | null;
  readonly abilities: readonly Ability[];
  readonly completion: CompletionState | null;
  readonly mode: string | null;
  readonly state: string | null;
  readonly state_means: string | null;
  readonly edits: "each" | "turn" | "allow";
  readonly running_turns: number;
  readonly pending_approvals: number;
  readonly policy: string;
  readonly policy_layers: readonly string[];
  readonly policy_problem: ErrorPayload | null;
  readonly audit_problem: string | null;
  readonly sandbox: string;
  readonly processes: readonly ProcessStatus[];
}

/** Where a name is defined. */
export interface SymbolAttachment {
  readonly pinned?: boolean;
  readonly type?: "symbol";
  readonly name: string;
}

/** The standing instructions of the conversation. */
export interface SystemSaid {
  readonly timestamp: string;
  readonly type: "system";
  readonly content: string;
}

/** A message of the person, for the model. */
export interface TextInput {
  readonly type?: "text";
  readonly text: string;
  readonly attachments?: readonly (FileAttachment | SelectionAttachment | DiagnosticsAttachment | SymbolAttachment)[];
}

/** Text the model thinks aloud, apart from its answer. */
export interface ThinkingDelta {
  readonly seq: number;
  readonly session_id: string;
  readonly turn_id: string;
  readonly time: string;
  readonly step: number;
  readonly sub_agent?: string | null;
  readonly kind: "thinking_delta";
  readonly text: string;
}

/**
 * Tokens of one answer; `cached` of the input tokens were not computed again, and `context` of them were sent in
 * the longest of its requests. `price_usd` is null if it is not known.
 */
export interface TokenCounts {
  readonly input: number;
  readonly context: number;
  readonly output: number;
  readonly cached: number;
  readonly price_usd: number | null;
}

/** Text of the answer, as it is generated. */
export interface TokenDelta {
  readonly seq: number;
  readonly session_id: string;
  readonly turn_id: string;
  readonly time: string;
  readonly step: number;
  readonly sub_agent?: string | null;
  readonly kind: "token_delta";
  readonly text: string;
}

/**
 * Tokens of one request or of a run; `cached_tokens` of the prompt were not computed again.
 *
 * `price_usd` is what they cost by the service's list prices: 0 on this machine, null if it is not known.
 */
export interface TokenUsage {
  readonly prompt_tokens: number;
  readonly cached_tokens: number;
  readonly completion_tokens: number;
  readonly price_usd: number | null;
}

/** Stage two: a tool is asked for. Nothing has run yet. */
export interface ToolCallEvent {
  readonly seq: number;
  readonly session_id: string;
  readonly turn_id: string;
  readonly time: string;
  readonly step: number;
  readonly sub_agent?: string | null;
  readonly kind: "tool_call";
  readonly tool_call_id: string;
  readonly tool: string;
  readonly intent: Intent | null;
  readonly arguments: { readonly [key: string]: JsonValue };
}

/** Lines that a command has printed while it runs, for the person; the model sees what its result shows. */
export interface ToolOutput {
  readonly seq: number;
  readonly session_id: string;
  readonly turn_id: string;
  readonly time: string;
  readonly step: number;
  readonly sub_agent?: string | null;
  readonly kind: "tool_output";
  readonly tool_call_id: string;
  readonly text: string;
}

/**
 * How a call ended. `decision` is policy's, or says that the gate or another check refused the call. If the call
 * needed approval, `answer` says how that was settled; null if nothing settled it. `output` is what the model sees.
 *
 * `data` is the same for programs, by tool (docs/editors/protocol.md); empty if it would be longer than 256 KiB.
 */
export interface ToolResultEvent {
  readonly seq: number;
  readonly session_id: string;
  readonly turn_id: string;
  readonly time: string;
  readonly step: number;
  readonly sub_agent?: string | null;
  readonly kind: "tool_result";
  readonly tool_call_id: string;
  readonly tool: string;
  readonly ok: boolean;
  readonly summary: string;
  readonly output: string;
  readonly data: { readonly [key: string]: JsonValue };
  readonly error: ErrorPayload | null;
  readonly decision: string;
  readonly answer: CallAnswer | null;
  readonly rules: readonly string[];
  readonly reasons: readonly ReasonPayload[];
  readonly changed_files: readonly string[];
  readonly exit_code: number | null;
  readonly duration_ms: number;
}

/** One line of the run's audit trail (AGT-08). */
export interface ToolTrace {
  readonly tool_call_id: string;
  readonly tool: string;
  readonly intent: Intent | null;
  readonly args_digest: string;
  readonly decision: string;
  readonly rule: string | null;
  readonly approval_id: string | null;
  readonly duration_ms: number;
  readonly exit_code: number | null;
  readonly result_digest: string;
}

/** How a turn ended, what it changed, and how long it took; see `RunResult`. */
export interface TurnEnded {
  readonly timestamp: string;
  readonly turn_id: string;
  readonly type: "turn_end";
  readonly status: "completed" | "declined" | "failed" | "cancelled" | "denied" | "timed_out";
  readonly final_output: string | null;
  readonly reason: string | null;
  readonly suggestion?: string | null;
  readonly error: ErrorPayload | null;
  readonly changes?: readonly FileOutcome[];
  readonly taken_back_by?: "undo" | "redo" | null;
  readonly usage: TokenUsage;
  readonly duration_ms: number;
}

/** A turn begins. `provider` and `model` name the model that answers it. */
export interface TurnStarted {
  readonly timestamp: string;
  readonly turn_id: string;
  readonly type: "turn_start";
  readonly provider: string;
  readonly model: string;
}

/**
 * What one step cost, for all its requests together. `context` is the number of tokens of the longest request, and
 * `window` the number of tokens that the model can hold with its answer; null if unknown.
 */
export interface UsageEvent {
  readonly seq: number;
  readonly session_id: string;
  readonly turn_id: string;
  readonly time: string;
  readonly step: number;
  readonly sub_agent?: string | null;
  readonly kind: "usage";
  readonly usage: TokenUsage;
  readonly context: number;
  readonly window: number | null;
}

/**
 * A message to the model: the person's words, or what Remit told it by itself.
 *
 * `sent` is all that the model was sent, with attachments and what the editor showed; null if it equals `content`.
 */
export interface UserSaid {
  readonly timestamp: string;
  readonly turn_id: string;
  readonly type: "user";
  readonly content: string;
  readonly sent: string | null;
  readonly origin: "person" | "remit";
}

/**
 * One question about changes; `parts` is empty if it can be answered only as a whole.
 *
 * `documents` is empty for a client that cannot read such documents.
 */
export interface WaitingReview {
  readonly approval_id: string;
  readonly digest: string;
  readonly title: string;
  readonly workspace_folder: string;
  readonly deadline: string;
  readonly taken: number;
  readonly parts: readonly ReviewPart[];
  readonly diffs: readonly FileDiff[];
  readonly documents: readonly ReviewDocument[];
}

/** A warning that the person was given besides the answer. */
export interface Warned {
  readonly timestamp: string;
  readonly turn_id: string;
  readonly type: "warning";
  readonly message: string;
}

/** Something the person should know that does not end the turn. */
export interface WarningEvent {
  readonly seq: number;
  readonly session_id: string;
  readonly turn_id: string;
  readonly time: string;
  readonly step: number;
  readonly sub_agent?: string | null;
  readonly kind: "warning";
  readonly message: string;
}

/**
 * The next position of the session in the workflow, written before the session moves there; `changed` says whether
 * anything was written since the state was entered. It counts only if the audit log has the transition.
 */
export interface WorkflowMoved {
  readonly timestamp: string;
  readonly turn_id: string;
  readonly type: "workflow";
  readonly position: KeptPosition;
  readonly changed: boolean;
}
