// One chat with a fake server: one turn at a time, each answer once, a new session after a clear.
import { describe, expect, test } from 'vitest';
import { openConversation, type ServerPort } from '../../src/chat/conversation';
import { findApproval, running, type Folder, type Turn } from '../../src/chat/view';
import type { AgentEvent, ApprovalAnswer, ApprovalReceipt, ChatReply, RunRequest, RunResult } from '../../src/contract';
import { event, question, result, started } from '../events';

class FakeServer implements ServerPort {
  readonly requests: RunRequest[] = [];
  readonly answers: ApprovalAnswer[] = [];
  receipt: ApprovalReceipt | Error = { accepted: true, reason: null };
  finish: (result: RunResult) => void = () => undefined;
  fail: (error: unknown) => void = () => undefined;
  aborted = false;
  private emit: (event: AgentEvent) => void = () => undefined;

  run(request: RunRequest, onEvent: (event: AgentEvent) => void, signal: AbortSignal): Promise<RunResult> {
    this.requests.push(request);
    this.emit = onEvent;
    signal.addEventListener('abort', () => { this.aborted = true; });
    return new Promise((finish, fail) => { this.finish = finish; this.fail = fail; });
  }

  reply: Partial<ChatReply> = {};
  readonly loaded: string[] = [];
  kept: readonly Turn[] = [];

  read(text: string, session: string): Promise<ChatReply> {
    if (text === 'wrong') return Promise.reject({ code: 'invalid_request', what: 'there is no command', why: 'w', fix: 'f' });
    return Promise.resolve({
      session_id: session, text: '', input: [{ type: 'text', text }], model: null, loads: false, clears: false, leaves: false,
      ...this.reply,
    });
  }

  load(session: string): Promise<readonly Turn[]> {
    this.loaded.push(session);
    return Promise.resolve(this.kept);
  }

  readonly forked: (readonly [turn: string, withTurn: boolean])[] = [];
  copy: string | null = 'copy';

  fork(_session: string, turn: string, withTurn: boolean): Promise<string | null> {
    this.forked.push([turn, withTurn]);
    return Promise.resolve(this.copy);
  }

  answer(answer: ApprovalAnswer): Promise<ApprovalReceipt> {
    this.answers.push(answer);
    return this.receipt instanceof Error ? Promise.reject(this.receipt) : Promise.resolve(this.receipt);
  }

  send(...all: readonly AgentEvent[]): void {
    const { session_id, turn_id } = this.requests.at(-1)!;
    for (const each of all) this.emit({ ...each, session_id, turn_id });
  }
}

const settle = (): Promise<void> => new Promise((resolve) => setTimeout(resolve));

function open(folders: readonly Folder[] = []) {
  const server = new FakeServer();
  let next = 0;
  const changes: string[] = [];
  const chat = openConversation(server, (change) => changes.push(change.type), () => `id-${++next}`, () => folders);
  return { server, chat, changes };
}

describe('asking', () => {
  test('a turn carries the session, a fresh id, the trimmed text and the context', async () => {
    const { server, chat } = open();
    expect(chat.ask('  rename a to b  ', { open_document: 'a.py' })).toBe(true);
    await settle();
    expect(server.requests).toEqual([
      { session_id: 'id-1', turn_id: 'id-2', input: [{ type: 'text', text: 'rename a to b' }], model: null, context: { open_document: 'a.py' } },
    ]);
  });

  test('LSP-13: what goes along is added to the message, and not to a call before it', async () => {
    const { server, chat } = open();
    const call = { type: 'call', tool: 'git_diff', arguments: {}, intent: 'ANALYZE' } as const;
    const there = { type: 'file', path: 'b.py' } as const;
    server.reply = { input: [call, { type: 'text', text: 'louder', attachments: [there] }] };
    const place = { line: 2, character: 0 };
    const lines = { type: 'selection', path: 'a.py', range: { start: place, end: place }, text: 'x' } as const;
    chat.ask('louder @b.py', null, [lines]);
    await settle();
    expect(server.requests[0]?.input).toEqual([call, { type: 'text', text: 'louder', attachments: [there, lines] }]);
  });

  test('a turn keeps the folders that were open when it was asked, and the one that the server says', async () => {
    const folders = [{ name: 'first', path: '/first' }, { name: 'w', path: '/w' }];
    const { server, chat } = open(folders);
    chat.ask('one', null);
    await settle();
    server.send(event(1, started));
    expect(chat.view().turns[0]).toMatchObject({ folders, workspace: '/w' });
  });

  test('nothing is asked with no text, or while a turn runs', async () => {
    const { server, chat } = open();
    expect(chat.ask('   ', null)).toBe(false);
    expect(chat.ask('one', null)).toBe(true);
    await settle();
    expect(chat.ask('two', null)).toBe(false);
    expect(server.requests).toHaveLength(1);
  });

  test('stop cancels, and the turn ends when the server says so', async () => {
    const { server, chat } = open();
    chat.ask('one', null);
    await settle();
    chat.stop();
    expect(server.aborted).toBe(true);
    expect(running(chat.view())).not.toBeNull();
    server.fail({ code: 'cancelled', what: 'cancelled', why: '', fix: '' });
    await settle();
    expect(chat.view().turns[0]!.status).toBe('cancelled');
  });

  test('a clear stops the turn, forgets it and starts a session', async () => {
    const { server, chat } = open();
    chat.ask('one', null);
    await settle();
    chat.clear();
    server.send(event(1, started));
    expect(chat.view().turns).toEqual([]);
    expect(chat.ask('two', null)).toBe(true);
    await settle();
    expect(server.requests[1]!.session_id).not.toBe(server.requests[0]!.session_id);
  });
});

describe('answering', () => {
  test('an answer carries the digest of the question, and is sent once', async () => {
    const { server, chat } = open();
    chat.ask('one', null);
    await settle();
    server.send(event(1, question({ digest: 'sha256:exact' })));
    await Promise.all([chat.answer('a1', { decision: 'allow', scope: 'once' }), chat.answer('a1', { decision: 'deny', scope: 'once' })]);
    expect(server.answers).toEqual([{ approval_id: 'a1', decision: 'allow', scope: 'once', left_out: [], digest: 'sha256:exact' }]);
  });

  test('APP-09 a yes leaves out what was left out by then, a no and a lasting yes do not', async () => {
    const { server, chat } = open();
    chat.ask('one', null);
    await settle();
    server.send(event(1, question({ by_hunk: true })));
    const parts = [{ path: 'a.py', hunk: 1, comment: 'why' }];
    chat.leaveOut('a1', parts);
    await chat.answer('a1', { decision: 'allow', scope: 'session' });
    expect(server.answers).toEqual([]);
    await chat.answer('a1', { decision: 'allow', scope: 'once' });
    expect(server.answers.at(-1)).toMatchObject({ decision: 'allow', scope: 'once', left_out: parts });
    chat.leaveOut('a1', []);
    expect(findApproval(chat.view(), 'a1')?.left_out).toEqual(parts);
    server.send(event(2, question({ approval_id: 'a2', by_hunk: true })), event(3, question({ approval_id: 'a3' })));
    chat.leaveOut('a2', parts);
    await chat.answer('a2', { decision: 'deny', scope: 'once', comment: 'no' });
    expect(server.answers.at(-1)).toMatchObject({ decision: 'deny', comment: 'no', left_out: [] });
    chat.leaveOut('a3', parts);
    expect(findApproval(chat.view(), 'a3')?.left_out).toEqual([]);
  });

  test('an unknown or resolved question is not answered', async () => {
    const { server, chat } = open();
    chat.ask('one', null);
    await settle();
    server.send(event(1, question()), event(2, { kind: 'approval_resolved', approval_id: 'a1', decision: 'deny', scope: 'once', by: 'deadline', reason: null }));
    await chat.answer('a1', { decision: 'allow', scope: 'once' });
    await chat.answer('a2', { decision: 'allow', scope: 'once' });
    expect(server.answers).toEqual([]);
  });

  test('an answer that does not arrive leaves the question open, with the reason', async () => {
    const { server, chat } = open();
    server.receipt = Object.assign(new Error(), { what: 'the server is gone' });
    chat.ask('one', null);
    await settle();
    server.send(event(1, question()));
    await chat.answer('a1', { decision: 'allow', scope: 'once' });
    expect(findApproval(chat.view(), 'a1')).toMatchObject({ answer: null, refused: 'the server is gone', outcome: null });
  });

  test('what changes is told once each, and nothing when nothing changed', async () => {
    const { server, chat, changes } = open();
    chat.ask('one', null);
    await settle();
    server.send(event(1, started), event(1, started));
    server.finish(result());
    await settle();
    expect(changes).toEqual(['asked', 'event', 'ended']);
  });
});

describe('sessions', () => {
  test('a kept session takes the place of the chat, which goes on with it', async () => {
    const { server, chat, changes } = open();
    chat.ask('one', null);
    await settle();
    await chat.resume('kept');
    expect(server.aborted).toBe(true);
    expect(chat.session()).toBe('kept');
    expect(changes.at(-1)).toBe('loaded');
    chat.ask('two', null);
    await settle();
    expect(server.requests.at(-1)).toMatchObject({ session_id: 'kept' });
  });
});

describe('commands of the chat', () => {
  test('an answer is shown as a turn, and nothing runs', async () => {
    const { server, chat } = open();
    server.reply = { input: [], text: 'The model is `built-in`.' };
    chat.ask('/model', null);
    await settle();
    expect(server.requests).toEqual([]);
    expect(chat.view().turns[0]).toMatchObject({ status: 'completed', items: [{ kind: 'text', text: 'The model is `built-in`.' }] });
  });

  test('a call, and the model that was switched to, are run as they were read', async () => {
    const { server, chat } = open();
    const call = { type: 'call', tool: 'undo_changes', arguments: { direction: 'undo' }, intent: 'CODE' } as const;
    server.reply = { input: [call], model: 'other' };
    chat.ask('/undo', null);
    await settle();
    expect(server.requests[0]).toMatchObject({ input: [call], model: 'other' });
  });

  test('another session is loaded, a new one clears the chat, a copy is gone on with', async () => {
    const { server, chat } = open();
    server.reply = { input: [], session_id: 'copy', text: 'This is a copy.' };
    chat.ask('/fork', null);
    await settle();
    expect([chat.session(), chat.view().turns.length]).toEqual(['copy', 1]);
    server.reply = { input: [], session_id: 'new', clears: true };
    chat.ask('/new', null);
    await settle();
    expect([chat.session(), chat.view().turns.length]).toEqual(['new', 0]);
    server.reply = { input: [], session_id: 'kept', loads: true };
    chat.ask('/load kept', null);
    await settle();
    expect([chat.session(), server.loaded]).toEqual(['kept', ['kept']]);
  });

  test('what cannot be followed says why', async () => {
    const { chat } = open();
    chat.ask('wrong', null);
    await settle();
    expect(chat.view().turns[0]).toMatchObject({ status: 'failed', items: [{ kind: 'note', level: 'error', text: 'there is no command' }] });
  });
});

describe('EDI-06 what goes along with a message', () => {
  const file = { type: 'file', path: 'a.py' } as const;

  test('goes with the text that the model is sent, behind what the text names, and is named below it', async () => {
    const { server, chat } = open();
    server.reply = { input: [{ type: 'text', text: 'see', attachments: [{ type: 'file', path: 'b.py' }] }] };
    chat.ask('see @b.py', null, [file]);
    await settle();
    expect(server.requests[0]!.input).toEqual([{ type: 'text', text: 'see', attachments: [{ type: 'file', path: 'b.py' }, file] }]);
    expect(chat.view().turns[0]!.attached).toEqual(['a.py']);
  });

  test('a model that was chosen is the one that is named', async () => {
    const { server, chat } = open();
    server.reply = { input: [], text: 'switched', model: 'org/large' };
    chat.ask('/model org/large', null);
    await settle();
    expect(chat.view().model).toBe('org/large');
  });
});

describe('EDI-08 a way back', () => {
  test('a fork goes on in the copy; where nothing is left to copy, in a new session; never while a turn runs', async () => {
    const { server, chat } = open();
    chat.ask('one', null);
    await settle();
    const turn = chat.view().turns[0]!.turn_id;
    await chat.fork(turn, true);
    expect(server.forked).toEqual([]);
    server.finish(result());
    await settle();
    await chat.fork(turn, true);
    expect(chat.session()).toBe('copy');
    server.copy = null;
    await chat.fork(turn, false);
    expect(server.forked).toEqual([[turn, true], [turn, false]]);
    expect(chat.session()).not.toBe('copy');
    expect(chat.view().turns).toEqual([]);
  });
});

describe('EDI-05 after a reload of the window', () => {
  const turn = { session_id: 'kept', turn_id: 't', prompt: 'before', items: [], status: 'completed' } as unknown as Turn;

  test('the chat goes on with its last session, unless it is gone or something was asked meanwhile', async () => {
    const { server, chat } = open();
    await chat.restore('gone');
    expect(chat.session()).toBe('id-1');
    server.kept = [turn];
    await chat.restore('kept');
    expect(chat.session()).toBe('kept');
    expect(chat.view().turns).toEqual([turn]);
    await chat.restore('other');
    expect(chat.session()).toBe('kept');
  });
});
