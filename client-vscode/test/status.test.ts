// The status bar says the most urgent thing first.
import { expect, test } from 'vitest';
import { problemOf } from '../src/problem';
import { parseMessage } from '../src/messages';
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
  expect(statusText(server, shown, null)).toMatchObject({ text, attention });
});

test('an error of the server keeps its what, why and fix', () => {
  expect(problemOf({ code: -32602, message: 'm', data: { what: 'a', why: 'b', fix: 'c' } })).toEqual({ what: 'a', why: 'b', fix: 'c' });
  expect(problemOf({ code: -32800, message: 'm' })).toMatchObject({ cancelled: true });
  expect(problemOf({ code: -32097, message: 'm' }).what).toBe('the server ended while it worked');
  expect(problemOf(new Error('odd'))).toMatchObject({ why: 'odd' });
  expect(problemOf(undefined)).toMatchObject({ why: 'undefined' });
});

test.each([
  null, 'ready', {}, { type: 'eval' }, { type: 'ask' }, { type: 'ask', text: 3 }, { type: 'open_diff', approval_id: 'a' },
  { type: 'answer', approval_id: 'a', decision: 'allow', scope: 'always' },
  { type: 'answer', approval_id: 'a', decision: 'maybe', scope: 'once' },
])('%j is no message', (value) => { expect(parseMessage(value)).toBeNull(); });

test('a message keeps only what belongs to it', () => {
  expect(parseMessage({ type: 'ask', text: 'hi', extra: 1 })).toEqual({ type: 'ask', text: 'hi' });
});
