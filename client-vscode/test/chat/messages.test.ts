// The extension host accepts only messages of the union from the webview.
import { expect, test } from 'vitest';
import { parseMessage } from '../../src/chat/messages';

const CHOICE = { decision: 'allow', scope: 'once', comment: null };

test.each([
  null, 'ready', {}, { type: 'eval' }, { type: 'mend', remedy: 'constructor' }, { type: 'mend' }, { type: 'ask' }, { type: 'ask', text: 3 }, { type: 'open_diff', approval_id: 'a' },
  { type: 'open_file', path: 'a.py' }, { type: 'open_file', turn_id: 't1' },
  { type: 'answer', approval_id: 'a', decision: 'allow', scope: 'once' },
  ...[
    { scope: 'forever' }, { decision: 'maybe' }, { comment: 3 },
  ].map((wrong) => ({ type: 'answer', approval_id: 'a', choice: { ...CHOICE, ...wrong } })),
  ...[
    'a.py', [{ hunk: 1 }], [{ path: 'a.py', hunk: '1', comment: null }], [{ path: 'a.py', hunk: 1, comment: 2 }],
  ].map((left_out) => ({ type: 'leave_out', approval_id: 'a', left_out })),
])('%j is no message', (value) => { expect(parseMessage(value)).toBeNull(); });

test('a message keeps only what belongs to it', () => {
  const ask = { type: 'ask', text: 'hi', attachments: [{ type: 'file', path: 'a.py' }] };
  expect(parseMessage({ ...ask, extra: 1 })).toEqual(ask);
  const file = { type: 'open_file', turn_id: 't1', place: { path: 'a.py', line: 3, column: 1 } };
  expect(parseMessage({ ...file, extra: 1 })).toEqual(file);
  const answer = { type: 'answer', approval_id: 'a', choice: CHOICE };
  expect(parseMessage({ ...answer, extra: 1 })).toEqual(answer);
  const parts = { type: 'leave_out', approval_id: 'a', left_out: [{ path: 'a.py', hunk: null, comment: 'why' }] };
  expect(parseMessage({ ...parts, extra: 1 })).toEqual(parts);
});
