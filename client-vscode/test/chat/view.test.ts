// The reducer keeps the rules of protocol.md §1: numbers without gaps, one end, and answers that count only once the server confirms them.
import { describe, expect, test } from 'vitest';
import { EMPTY, reduce, type Change } from '../../src/chat/reduce';
import { findApproval, pending, running, tookLong, wentWell, type View } from '../../src/chat/view';
import type { AgentEvent, ToolResultEvent } from '../../src/contract';
import { asked, call, completed, event, events, question, result, started, toolResult, TURN } from '../events';

const ASKED: Change = asked('do it');

function after(all: readonly AgentEvent[], from: View = reduce(EMPTY, ASKED)): View {
  return all.reduce((view, each) => reduce(view, { type: 'event', event: each }), from);
}

function items(view: View) {
  return view.turns[0]!.items;
}

describe('the stream', () => {
  test('a governed edit becomes intent, call with result, resolved question and text, in order', () => {
    const view = after(events(
      started,
      { kind: 'intent_selected', intent: 'WRITE_FILE', justification: 'asked to', previous: null, allowed_tools: ['edit_file'], work_item: null },
      call,
      question(),
      { kind: 'approval_resolved', approval_id: 'a1', decision: 'allow', scope: 'once', by: 'person', reason: null },
      toolResult(),
      { kind: 'token_delta', text: 'Do' },
      { kind: 'token_delta', text: 'ne.' },
      completed(),
    ));
    expect(items(view).map((item) => item.kind)).toEqual(['intent', 'tool', 'approval', 'text']);
    expect(items(view)[1]).toMatchObject({ tool: 'edit_file', result: { ok: true, rules: ['writes'] } });
    expect(items(view)[2]).toMatchObject({ outcome: { decision: 'allow', by: 'person' } });
    expect(items(view)[3]).toMatchObject({ text: 'Done.' });
    expect(view).toMatchObject({ model: 'built-in', turns: [{ status: 'completed', seq: 9 }] });
    expect(running(view)).toBeNull();
  });

  test('every kind of event is drawn or kept, none throws', () => {
    const view = after(events(
      started,
      { kind: 'thinking_delta', text: 'hm' },
      { kind: 'state_changed', state: 'red', mode: 'strict', means: 'only tests may be written' },
      { kind: 'review_required', review_id: 'r', diffs: [] },
      { kind: 'review_resolved', review_id: 'r', accepted: 1, rejected: 2 },
      { kind: 'usage', window: null, context: 3, usage: { prompt_tokens: 3, cached_tokens: 1, completion_tokens: 2, price_usd: 0.25 } },
      { kind: 'usage', window: null, context: 4, usage: { prompt_tokens: 4, cached_tokens: 0, completion_tokens: 1, price_usd: 0.5 } },
      { kind: 'warning', message: 'careful' },
      { kind: 'error', error: { code: 'internal', message: 'x', retryable: false, what: 'x', why: 'y', fix: 'z' } },
    ));
    expect(items(view).map((item) => item.kind)).toEqual(['thinking', 'note', 'note', 'note', 'note', 'note']);
    expect(view.standing).toEqual({ mode: 'strict', state: 'red', means: 'only tests may be written' });
    expect(view.turns[0]!.usage).toEqual({ prompt_tokens: 7, cached_tokens: 1, completion_tokens: 3, price_usd: 0.75 });
  });

  test('how much of the prompt is read shows until something else comes', () => {
    const [begun, read, said] = events(
      started, { kind: 'prompt_progress', done: 512, total: 900 }, { kind: 'token_delta', text: 'a' },
    );
    expect(after([begun!, read!]).turns[0]!.read).toBe(56);
    expect(after([begun!, read!, said!]).turns[0]!.read).toBeNull();
  });

  test('an event that comes twice counts once', () => {
    const [first, second] = events(started, { kind: 'token_delta', text: 'a' });
    const view = after([first!, second!, second!, first!]);
    expect(items(view)).toMatchObject([{ text: 'a' }]);
    expect(view.turns[0]!.seq).toBe(2);
  });

  test('a gap in the numbers is said, and what follows still arrives', () => {
    const view = after([event(1, started), event(4, { kind: 'token_delta', text: 'late' })]);
    expect(items(view)).toMatchObject([
      { kind: 'note', level: 'warning', text: expect.stringContaining('2 events did not arrive') },
      { kind: 'text', text: 'late' },
    ]);
  });

  test('nothing counts after run_completed', () => {
    const done = after(events(started, completed()));
    expect(after([event(3, { kind: 'token_delta', text: 'more' })], done)).toBe(done);
    expect(after([event(3, question())], done)).toBe(done);
  });

  test('events of a turn that nobody asked for, or of another session, change nothing', () => {
    const view = reduce(EMPTY, ASKED);
    const [stray] = events(started);
    expect(after([stray!], EMPTY)).toBe(EMPTY);
    expect(after([{ ...stray!, session_id: 'other' }], view)).toBe(view);
  });

  test('a kind from a newer server is said, not swallowed', () => {
    const view = after([event(1, { kind: 'telepathy' } as never)]);
    expect(items(view)).toMatchObject([{ kind: 'note', level: 'warning', text: expect.stringContaining('`telepathy`') }]);
  });

  test('a result whose call was never announced still has its line', () => {
    const view = after(events(started, toolResult({ tool_call_id: 'c9', tool: 'write_file', ok: false })));
    expect(items(view)).toMatchObject([{ kind: 'tool', id: 'c9', tool: 'write_file', result: { ok: false } }]);
  });

  test('what a command prints is kept while it runs and after its result, as much as the server shows whole', () => {
    const call = { kind: 'tool_call', tool_call_id: 'c1', tool: 'run_command', intent: 'EXECUTE', arguments: {} } as const;
    const printed = (text: string) => ({ kind: 'tool_output', tool_call_id: 'c1', text }) as const;
    const running = after(events(started, call, printed('one\ntwo'), printed('three')));
    expect(items(running)).toMatchObject([{ kind: 'tool', printed: 'one\ntwo\nthree', result: null }]);
    const long = after(events(started, call, printed('a'.repeat(15_000)), printed('b'.repeat(15_000))));
    expect(items(long)).toMatchObject([{ printed: expect.stringMatching(/^a+\nb{15000}$/) }]);
    expect(items(long)[0]).toHaveProperty('printed.length', 20_000);
    const done = after(events(started, call, printed('one'), toolResult()));
    expect(items(done)).toMatchObject([{ printed: 'one', result: { ok: true } }]);
    expect(items(after(events(started, printed('of no call'))))).toEqual([]);
  });

  test('the final output is shown only when it was not streamed', () => {
    const streamed = after(events(started, { kind: 'token_delta', text: 'a' }, completed({ final_output: 'a' })));
    const silent = after(events(started, completed({ final_output: 'b' })));
    expect(items(streamed)).toMatchObject([{ text: 'a' }]);
    expect(items(silent)).toMatchObject([{ kind: 'text', text: 'b' }]);
  });
});

describe('whether a call went well', () => {
  test.each<[boolean, Parameters<typeof toolResult>[0]]>([
    [true, {}],
    [false, { ok: false }],
    [true, { tool: 'run_command', exit_code: 0 }],
    [false, { tool: 'run_command', exit_code: 3 }],
    [false, { tool: 'run_command', ok: false, exit_code: null }],
    [false, { tool: 'run_tests', exit_code: 0, data: { passed: false } }],
  ])('%s for %j', (well, given) => { expect(wentWell(toolResult(given) as ToolResultEvent)).toBe(well); });
});

describe('approvals', () => {
  test('an answer given before is told by the call alone', () => {
    const before = after([
      event(1, started), event(2, call),
      event(3, { kind: 'approval_resolved', approval_id: 'c1', decision: 'allow', scope: 'always', by: 'standing_answer', reason: null }),
    ]);
    expect(items(before).map(({ kind }) => kind)).toEqual(['tool']);
    expect(pending(before)).toEqual([]);
  });

  test('FLW-10 a commit under an approved review is told, for nobody was asked', () => {
    const reason = 'the review of exactly these files was approved';
    const told = after([
      event(1, started), event(2, call), event(3, { kind: 'approval_resolved', approval_id: 'c1', decision: 'allow', scope: 'once', by: 'review', reason }),
    ]);
    expect(items(told).at(-1)).toMatchObject({ kind: 'note', text: `not asked: ${reason}` });
  });

  const waiting = after(events(started, call, question()));

  test('a question waits until the server resolves it, whatever was pressed', () => {
    expect(pending(waiting).map((item) => item.id)).toEqual(['a1']);
    const pressed = reduce(waiting, { type: 'answered', approval_id: 'a1', decision: 'allow', scope: 'session' });
    expect(findApproval(pressed, 'a1')).toMatchObject({ answer: { decision: 'allow', scope: 'session' }, outcome: null });
    expect(pending(pressed)).toHaveLength(1);
    const resolved = after([event(4, { kind: 'approval_resolved', approval_id: 'a1', decision: 'deny', scope: 'once', by: 'deadline', reason: null })], pressed);
    expect(findApproval(resolved, 'a1')?.outcome).toEqual({ decision: 'deny', scope: 'once', by: 'deadline' });
    expect(pending(resolved)).toEqual([]);
  });

  test('an answer that the server does not take can be given again, with the reason shown', () => {
    const pressed = reduce(waiting, { type: 'answered', approval_id: 'a1', decision: 'allow', scope: 'once' });
    const refused = reduce(pressed, { type: 'receipt', approval_id: 'a1', receipt: { accepted: false, reason: 'it changed' } });
    expect(findApproval(refused, 'a1')).toMatchObject({ answer: null, refused: 'it changed', outcome: null });
  });

  test('the first resolution stands', () => {
    const resolved = after([
      event(4, { kind: 'approval_resolved', approval_id: 'a1', decision: 'deny', scope: 'once', by: 'person', reason: null }),
      event(5, { kind: 'approval_resolved', approval_id: 'a1', decision: 'allow', scope: 'once', by: 'person', reason: null }),
    ], waiting);
    expect(findApproval(resolved, 'a1')?.outcome?.decision).toBe('deny');
  });

  test.each<Change>([
    { type: 'answered', approval_id: 'nobody', decision: 'allow', scope: 'once' },
    { type: 'receipt', approval_id: 'nobody', receipt: { accepted: true, reason: null } },
    { type: 'ended', turn_id: 'nobody', result: null, error: null },
  ])('$type for something unknown changes nothing', (change) => {
    expect(reduce(waiting, change)).toBe(waiting);
  });

  test('a lost server denies what was open', () => {
    const lost = reduce(waiting, { type: 'ended', turn_id: TURN, result: null, error: { code: 'connection_lost', what: 'gone', why: 'w', fix: 'f' } });
    expect(findApproval(lost, 'a1')?.outcome).toEqual({ decision: 'deny', scope: 'once', by: 'disconnected' });
    expect(lost.turns[0]).toMatchObject({ status: 'failed' });
    expect(items(lost).at(-1)).toMatchObject({ kind: 'note', level: 'error', error: { what: 'gone' } });
  });

  test('a question that is open when its turn completes was not answered', () => {
    const view = after([event(4, completed({ status: 'cancelled' }))], waiting);
    expect(findApproval(view, 'a1')?.outcome).toMatchObject({ decision: 'deny', by: 'cancelled' });
  });
});

describe('endings', () => {
  test('the response after run_completed changes nothing', () => {
    const done = after(events(started, completed()));
    expect(reduce(done, { type: 'ended', turn_id: TURN, result: result(), error: null })).toBe(done);
  });

  test('a turn whose stream was lost ends with the response', () => {
    const view = reduce(after(events(started)), {
      type: 'ended', turn_id: TURN, result: result({ status: 'denied', final_output: 'no' }), error: null,
    });
    expect(view.turns[0]).toMatchObject({ status: 'denied', items: [{ text: 'no' }] });
  });

  test('why nothing was done is kept with the turn', () => {
    const view = after(events(started, completed({ status: 'declined', final_output: 'I stopped.', reason: 'no such file' })));
    expect(view.turns[0]).toMatchObject({ status: 'declined', reason: 'no such file', items: [{ text: 'I stopped.' }] });
  });

  test('a cancel is no error', () => {
    const view = reduce(after(events(started)), {
      type: 'ended', turn_id: TURN, result: null, error: { code: 'cancelled', what: 'cancelled', why: '', fix: '' },
    });
    expect(view.turns[0]).toMatchObject({ status: 'cancelled', items: [] });
  });

  test('a stop of the person is no error, however the server says it', () => {
    const error = { code: 'cancelled', message: 'm', retryable: true, what: 'x', why: 'y', fix: 'z' } as const;
    const view = after(events(started, { kind: 'error', error }, completed({ status: 'cancelled', error })));
    expect(view.turns[0]).toMatchObject({ status: 'cancelled', items: [] });
  });

  test('an error that was already told is not told again', () => {
    const error = { code: 'model_failed', message: 'm', retryable: true, what: 'x', why: 'y', fix: 'z' } as const;
    const view = after(events(started, { kind: 'error', error }, completed({ status: 'failed', error })));
    expect(items(view)).toHaveLength(1);
  });

  test('clearing leaves nothing behind that was the session\'s', () => {
    expect(reduce(after(events(started)), { type: 'cleared' })).toEqual(EMPTY);
  });
});

test.each([
  ['2026-01-01T00:00:31Z', true],
  ['2026-01-01T00:00:30Z', false],
  [null, false],
])('CLI-10 a turn that ended at %s took long: %s', (ended, long) => {
  expect(tookLong({ started: '2026-01-01T00:00:00Z', ended })).toBe(long);
});
