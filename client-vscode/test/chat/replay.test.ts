// A stored session becomes turns of the chat, and nothing is run again (SES-02).
import { expect, test } from 'vitest';
import { turnsOf } from '../../src/chat/replay';
import { EMPTY, reduce } from '../../src/chat/reduce';
import type { SessionRecord } from '../../src/contract';

const AT = { timestamp: '2026-01-01T00:00:00.000Z', turn_id: 't1' };
const USAGE = { prompt_tokens: 1, completion_tokens: 2, cached_tokens: 0, price_usd: 0 };
const TOKENS = { input: 1, output: 2, cached: 0, price_usd: 0, context: 9 };
const START: SessionRecord = {
  type: 'session_start', timestamp: AT.timestamp, session_id: 's', workspace: '/w', config: { provider: 'mlx', model: 'm' },
  remit: '1', forked_from: null,
};
const RESULT = {
  ...AT, type: 'tool_result', id: 'c1', name: 'read_file', success: true, output: 'x = 1', summary: 'read a.py', intent: 'READ_FILE',
  decision: 'allowed', answer: null, rules: ['read-workspace'], error: null, changed_files: [], exit_code: null, duration_ms: 3,
} as const;
const TURN: readonly SessionRecord[] = [
  { ...AT, type: 'turn_start', provider: 'mlx', model: 'm' },
  { ...AT, type: 'user', content: 'what is in a.py?', sent: null, origin: 'person' },
  { ...AT, type: 'assistant', step: 1, content: '', provider: 'mlx', model: 'm', tokens: TOKENS, duration_ms: 5 },
  { ...AT, type: 'tool_call', id: 'c0', name: 'select_active_intent', arguments: { intent: 'READ_FILE' }, caller: 'model' },
  { ...AT, type: 'tool_call', id: 'c1', name: 'read_file', arguments: { path: 'a.py' }, caller: 'model' },
  { ...AT, type: 'intent', step: 1, intent: 'READ_FILE', justification: null, work_item: null },
  { ...RESULT, output: 'x = ' },
  RESULT,
  { ...AT, type: 'assistant', step: 2, content: 'One variable.', provider: 'mlx', model: 'm', tokens: TOKENS, duration_ms: 5 },
  { ...AT, type: 'turn_end', status: 'completed', final_output: 'One variable.', reason: null, error: null, changes: [], taken_back_by: null, usage: USAGE, duration_ms: 9 },
];

test('a turn has its words, its intent, its call with the last result, and its answer', () => {
  const [turn, ...others] = turnsOf([START, ...TURN], []);
  expect(others).toEqual([]);
  expect(turn).toMatchObject({ session_id: 's', turn_id: 't1', prompt: 'what is in a.py?', workspace: '/w', status: 'completed' });
  expect(turn?.items.map(({ kind }) => kind)).toEqual(['intent', 'tool', 'text']);
  expect(turn?.items[1]).toMatchObject({ tool: 'read_file', result: { ok: true, summary: 'read a.py', output: 'x = 1' } });
});

test('a turn without an end ended with its process', () => {
  expect(turnsOf([START, ...TURN.slice(0, 5)], [])[0]?.status).toBe('cancelled');
});

test('what a person called without words is named after the call', () => {
  const own: readonly SessionRecord[] = [
    TURN[0]!,
    { ...AT, type: 'tool_call', id: 'c1', name: 'undo_changes', arguments: {}, caller: 'person' },
    { ...RESULT, name: 'undo_changes' },
    { ...AT, type: 'user', content: 'I ran undo_changes', sent: null, origin: 'remit' },
    TURN.at(-1)!,
  ];
  expect(turnsOf([START, ...own], [])[0]?.prompt).toBe('/undo');
  const redone = own.map((record) => (record.type === 'tool_call' ? { ...record, arguments: { direction: 'redo' } } : record));
  expect(turnsOf([START, ...redone], [])[0]?.prompt).toBe('/redo');
  const other = own.map((record) => (record.type === 'tool_call' ? { ...record, name: 'git_status' } : record));
  expect(turnsOf([START, ...other], [])[0]?.prompt).toBe('!git_status');
});

test.each([
  ['allow', 'person', 'once', 'Allowed once by you · change a.py'],
  ['deny', 'cancelled', 'once', 'Denied: the turn ended · change a.py'],
  ['deny', 'by_a_newer_version', 'once', 'Denied: by_a_newer_version · change a.py'],
] as const)('an answer is told as it was while it ran: %s, %s, %s', (decision, by, scope, text) => {
  const answer: SessionRecord = { ...AT, type: 'approval', approval_id: 'a', title: 'change a.py', decision, by, scope, waited_ms: 1 };
  expect(turnsOf([START, ...TURN.slice(0, 2), answer], [])[0]?.items).toMatchObject([{ kind: 'note', text }]);
});

test('a turn ends with the files that it changed and with what takes them back', () => {
  const changes = [{ path: 'a.py', how: 'changed', moved_from: null, added: 1, removed: 1 }] as const;
  const end: SessionRecord = { ...AT, type: 'turn_end', status: 'completed', final_output: '', reason: null, error: null, changes, taken_back_by: 'undo', usage: USAGE, duration_ms: 9 };
  expect(turnsOf([START, ...TURN.slice(0, -1), end], [])[0]).toMatchObject({ changes, taken_back_by: 'undo', suggestion: null });
});

test('MOD-29 the sentence that a yes stands for is kept', () => {
  const end = { ...TURN.at(-1)!, status: 'declined', suggestion: 'remove line 1 of a.py' } as SessionRecord;
  expect(turnsOf([START, ...TURN.slice(0, -1), end], [])[0]?.suggestion).toBe('remove line 1 of a.py');
});

test('an answer is told by its call, once that has ended', () => {
  const answer: SessionRecord = { ...AT, type: 'approval', approval_id: 'a', title: 'change a.py', decision: 'deny', by: 'person', scope: 'once', waited_ms: 1 };
  const said = { approval_id: 'a', decision: 'deny', by: 'person', scope: 'once' } as const;
  const refused: SessionRecord = { ...RESULT, success: false, summary: 'not done: you said no', error: 'approval_denied', answer: said, output: 'error approval_denied: not done\nfix: ask what to do' };
  const [turn] = turnsOf([START, ...TURN.slice(0, 5), answer, refused], []);
  expect(turn?.items).toMatchObject([{ kind: 'tool', result: { answer: said, error: { code: 'approval_denied', what: 'not done', why: 'you said no', fix: 'ask what to do' } } }]);
});

test('a command has what it printed, and a typed one is the prompt', () => {
  const call: SessionRecord = { ...AT, type: 'tool_call', id: 'c1', name: 'run_command', arguments: { command: 'seq 1 2' }, caller: 'person' };
  const ran: SessionRecord = { ...RESULT, name: 'run_command', exit_code: 0, output: 'exit code 0\nstdout:\n1\n2\nstderr:\n3' };
  const told: SessionRecord = { ...AT, type: 'user', content: 'I ran it', sent: null, origin: 'remit' };
  const [turn] = turnsOf([START, TURN[0]!, call, ran, told], []);
  expect(turn).toMatchObject({ prompt: '!seq 1 2', items: [{ printed: '1\n2\n3' }] });
});

test('every prefix of a session can be drawn, and takes the place of what is there', () => {
  for (let end = 0; end <= TURN.length; end += 1) {
    const turns = turnsOf([START, ...TURN.slice(0, end)], []);
    expect(reduce(EMPTY, { type: 'loaded', turns }).turns).toBe(turns);
  }
});
