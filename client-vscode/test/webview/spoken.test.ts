// What a screen reader announces: the step that has begun, the question, and at the end the answer, but not every token.
import { expect, test } from 'vitest';
import { EMPTY, reduce } from '../../src/chat/reduce';
import { spoken } from '../../src/webview/spoken';
import { asked, call, completed, events, question, started, toolResult, type Sent } from '../events';

const INTENT: Sent = { kind: 'intent_selected', intent: 'READ_FILE', justification: 'to look', previous: null, allowed_tools: [], work_item: null };
const LONG_REASON = 'cannot run the tests with pytest: it was not found where a sandbox can look';
const TEXT: Sent = { kind: 'token_delta', text: 'All done.' };

test.each<[string, readonly Sent[]]>([
  ['working', [started]],
  ['Intent: READ FILE. to look', [started, INTENT]],
  ['edit_file running', [started, INTENT, call]],
  ['Remit asks: Edit a.py', [started, INTENT, call, question()]],
  ['edit_file done', [started, INTENT, call, toolResult()]],
  ['edit_file done', [started, INTENT, call, toolResult(), TEXT]],
  ['completed. All done.', [started, INTENT, call, toolResult(), TEXT, completed()]],
  ['completed. a.py, line 1:\n\nx = 1', [started, { ...TEXT, text: 'a.py, line 1:\n\n```py\nx = 1\n```' }, completed()]],
  ['not done: it said so. ', [started, completed({ status: 'declined', reason: 'it said so' })]],
  ['not done. I stopped: '.concat(LONG_REASON, '.'), [started, { ...TEXT, text: `I stopped: ${LONG_REASON}.` }, completed({ status: 'declined', reason: LONG_REASON })]],
  ['denied: you said no. ', [started, completed({ status: 'denied', reason: 'you said no' })]],
  ['timed out. ', [started, completed({ status: 'timed_out' })]],
])('%s', (words, sent) => {
  const begun = reduce(EMPTY, asked());
  expect(spoken(events(...sent).reduce((view, event) => reduce(view, { type: 'event', event }), begun))).toBe(words);
});

test('an empty chat says nothing', () => { expect(spoken(EMPTY)).toBe(''); });

test('EDI-07 a long answer is not read out to its end', () => {
  const long: Sent = { kind: 'token_delta', text: 'word '.repeat(5_000) };
  const view = events(started, long, completed()).reduce((each, event) => reduce(each, { type: 'event', event }), reduce(EMPTY, asked()));
  expect(spoken(view).length).toBeLessThan(600);
});
