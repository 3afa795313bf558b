// The status bar says the most urgent thing first.
import { expect, test } from 'vitest';
import { parseMessage, type ServerState } from '../src/messages';
import type { ProblemCode } from '../src/problem';
import { statusText } from '../src/status';
import { EMPTY, reduce, type View } from '../src/view';
import { events, question, SESSION, started, TURN, type Sent } from './events';

function view(...all: readonly Sent[]): View {
  const asked = reduce(EMPTY, { type: 'asked', session_id: SESSION, turn_id: TURN, prompt: 'x' });
  return events(...all).reduce((each, event) => reduce(each, { type: 'event', event }), asked);
}

test.each([
  ['stopped' as const, view(started, question()), '$(circle-slash) Remit: not running', true],
  ['starting' as const, EMPTY, '$(loading~spin) Remit: starting', false],
  ['ready' as const, view(started, question()), '$(bell-dot) Remit: waiting for approval', true],
  ['ready' as const, view(started), '$(loading~spin) Remit: running', false],
  ['ready' as const, { ...EMPTY, model: 'embedded' }, '$(shield) Remit: embedded', false],
  ['ready' as const, EMPTY, '$(shield) Remit', false],
])('%s', (server, shown, text, attention) => {
  expect(statusText({ state: server, status: null, problem: null }, shown)).toMatchObject({ text, attention });
});

test.each<[ServerState, ProblemCode, string, boolean]>([
  ['stopped', 'server_missing', '$(warning) Remit: server not found', true],
  ['stopped', 'server_lost', '$(warning) Remit: not running', true],
  ['stopped', 'no_folder', '$(circle-slash) Remit: no folder', false],
  ['ready', 'policy_invalid', '$(warning) Remit: policy is broken', true],
  ['ready', 'internal', '$(warning) Remit: needs you', true],
])('%s with %s', (state, code, text, attention) => {
  const problem = { code, what: 'it failed', why: 'so it is', fix: 'mend it' };
  const said = statusText({ state, status: null, problem }, view(started, question()));
  expect(said).toMatchObject({ text, attention });
  expect(said.tooltip).toContain('It failed: so it is. Mend it.');
});

test.each([
  null, 'ready', {}, { type: 'eval' }, { type: 'mend', remedy: 'constructor' }, { type: 'mend' }, { type: 'ask' }, { type: 'ask', text: 3 }, { type: 'open_diff', approval_id: 'a' },
  { type: 'answer', approval_id: 'a', decision: 'allow', scope: 'forever' },
  { type: 'answer', approval_id: 'a', decision: 'maybe', scope: 'once' },
])('%j is no message', (value) => { expect(parseMessage(value)).toBeNull(); });

test('a message keeps only what belongs to it', () => {
  expect(parseMessage({ type: 'ask', text: 'hi', extra: 1 })).toEqual({ type: 'ask', text: 'hi' });
});
