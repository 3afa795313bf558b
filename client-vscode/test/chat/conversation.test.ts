// One chat against a server that is a port: one turn at a time, answers once, a new session after a clear.
import { describe, expect, test } from 'vitest';
import { openConversation, type ServerPort } from '../../src/chat/conversation';
import { findApproval, running, type Folder } from '../../src/chat/view';
import type { AgentEvent, ApprovalAnswer, ApprovalReceipt, RunRequest, RunResult } from '../../src/contract';
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

  answer(answer: ApprovalAnswer): Promise<ApprovalReceipt> {
    this.answers.push(answer);
    return this.receipt instanceof Error ? Promise.reject(this.receipt) : Promise.resolve(this.receipt);
  }

  send(...all: readonly AgentEvent[]): void {
    const { session_id, turn_id } = this.requests.at(-1)!;
    for (const each of all) this.emit({ ...each, session_id, turn_id });
  }
}

function open(folders: readonly Folder[] = []) {
  const server = new FakeServer();
  let next = 0;
  const changes: string[] = [];
  const chat = openConversation(server, (change) => changes.push(change.type), () => `id-${++next}`, () => folders);
  return { server, chat, changes };
}

describe('asking', () => {
  test('a turn carries the session, a fresh id, the trimmed text and the context', () => {
    const { server, chat } = open();
    expect(chat.ask('  rename a to b  ', { open_document: 'a.py' })).toBe(true);
    expect(server.requests).toEqual([
      { session_id: 'id-1', turn_id: 'id-2', input: { type: 'text', text: 'rename a to b' }, context: { open_document: 'a.py' } },
    ]);
  });

  test('a turn keeps the folders that were open when it was asked, and the one that the server says', () => {
    const folders = [{ name: 'first', path: '/first' }, { name: 'w', path: '/w' }];
    const { server, chat } = open(folders);
    chat.ask('one', null);
    server.send(event(1, started));
    expect(chat.view().turns[0]).toMatchObject({ folders, workspace: '/w' });
  });

  test('nothing is asked with no text, or while a turn runs', () => {
    const { server, chat } = open();
    expect(chat.ask('   ', null)).toBe(false);
    expect(chat.ask('one', null)).toBe(true);
    expect(chat.ask('two', null)).toBe(false);
    expect(server.requests).toHaveLength(1);
  });

  test('stop cancels, and the turn ends when the server says so', async () => {
    const { server, chat } = open();
    chat.ask('one', null);
    chat.stop();
    expect(server.aborted).toBe(true);
    expect(running(chat.view())).not.toBeNull();
    server.fail({ code: 'cancelled', what: 'cancelled', why: '', fix: '' });
    await Promise.resolve();
    await Promise.resolve();
    expect(chat.view().turns[0]!.status).toBe('cancelled');
  });

  test('a clear stops the turn, forgets it and starts a session', () => {
    const { server, chat } = open();
    chat.ask('one', null);
    chat.clear();
    server.send(event(1, started));
    expect(chat.view().turns).toEqual([]);
    expect(chat.ask('two', null)).toBe(true);
    expect(server.requests[1]!.session_id).not.toBe(server.requests[0]!.session_id);
  });
});

describe('answering', () => {
  test('an answer carries the digest of the question, and is sent once', async () => {
    const { server, chat } = open();
    chat.ask('one', null);
    server.send(event(1, question({ digest: 'sha256:exact' })));
    await Promise.all([chat.answer('a1', 'allow', 'once'), chat.answer('a1', 'deny', 'once')]);
    expect(server.answers).toEqual([{ approval_id: 'a1', decision: 'allow', scope: 'once', digest: 'sha256:exact' }]);
  });

  test('an unknown or resolved question is not answered', async () => {
    const { server, chat } = open();
    chat.ask('one', null);
    server.send(event(1, question()), event(2, { kind: 'approval_resolved', approval_id: 'a1', decision: 'deny', scope: 'once', by: 'deadline' }));
    await chat.answer('a1', 'allow', 'once');
    await chat.answer('a2', 'allow', 'once');
    expect(server.answers).toEqual([]);
  });

  test('an answer that does not arrive leaves the question open, with the reason', async () => {
    const { server, chat } = open();
    server.receipt = Object.assign(new Error(), { what: 'the server is gone' });
    chat.ask('one', null);
    server.send(event(1, question()));
    await chat.answer('a1', 'allow', 'once');
    expect(findApproval(chat.view(), 'a1')).toMatchObject({ answer: null, refused: 'the server is gone', outcome: null });
  });

  test('what changes is told once each, and nothing when nothing changed', async () => {
    const { server, chat, changes } = open();
    chat.ask('one', null);
    server.send(event(1, started), event(1, started));
    server.finish(result());
    await Promise.resolve();
    await Promise.resolve();
    expect(changes).toEqual(['asked', 'event', 'ended']);
  });
});

describe('sessions', () => {
  test('a kept session takes the place of the chat, which goes on with it', () => {
    const { server, chat, changes } = open();
    chat.ask('one', null);
    chat.resume('kept', []);
    expect(server.aborted).toBe(true);
    expect(chat.session()).toBe('kept');
    expect(changes.at(-1)).toBe('loaded');
    chat.ask('two', null);
    expect(server.requests.at(-1)).toMatchObject({ session_id: 'kept' });
  });
});
