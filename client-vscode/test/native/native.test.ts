// What VS Code's own chat shows, how other agents' calls are converted, and what the model is asked (EDI-11).
import MarkdownIt from 'markdown-it';
import { expect, test } from 'vitest';
import { reduce, EMPTY, type Change } from '../../src/chat/reduce';
import type { AgentEvent } from '../../src/contract';
import { piecesOf } from '../../src/native/mirror';
import { infoOf, requestOf } from '../../src/native/model';
import { callOf } from '../../src/native/tools';

function told(change: Change): readonly string[] {
  const asked: Change = { type: 'asked', session_id: 's', turn_id: 't', prompt: 'p', attached: [], folders: [] };
  const view = [asked, change].reduce(reduce, EMPTY);
  return piecesOf('t', change, view).map(({ kind, text }) => `${kind}: ${text}`);
}

const event = (given: object): Change => ({ type: 'event', event: { seq: 1, step: 1, session_id: 's', turn_id: 't', time: '', ...given } as AgentEvent });

test('EDI-11: a turn is said as it comes, with nothing hidden, and another turn is not', () => {
  expect(told(event({ kind: 'token_delta', text: 'a\u202eb' }))).toEqual(['text: a⟨U+202E⟩b']);
  expect(told(event({ kind: 'tool_call', tool: 'read_file', arguments: { path: 'a\nb' } }))).toEqual(['progress: read\\_file a↵b']);
  expect(told({ ...event({ kind: 'token_delta', text: 'x', turn_id: 'other' }) })).toEqual([]);
});

test('EDI-11: the end of a turn says what it came to, unless it has said all', () => {
  const result = (given: object): object => ({ kind: 'run_completed', result: { status: 'completed', error: null, reason: null, ...given } });
  expect(told(event(result({ status: 'denied', reason: 'you said no' })))).toEqual(['end: \n\n_denied: you said no_']);
  expect(told(event(result({ final_output: 'all of it' })))).toEqual(['end: ']);
  const problem = { code: 'server_lost', what: 'it ended', why: 'it was killed', fix: 'ask again' } as const;
  expect(told({ type: 'ended', turn_id: 't', result: null, error: problem })).toEqual(['end: \n\n_failed: It ended: it was killed. Ask again._']);
});

const HOSTILE = '[a](command:evil) ![b](https://x/y.png) <img src=x> `c` **d** _e_ ~~f~~ &lt; $g$ \\[h](i) https://j.k www.m.n o@p.q';

test.each([
  { kind: 'approval_required', title: HOSTILE },
  { kind: 'tool_result', ok: false, tool: HOSTILE, summary: HOSTILE },
  { kind: 'tool_call', tool: 'write_file', arguments: { path: HOSTILE } },
  { kind: 'warning', message: HOSTILE },
  { kind: 'run_completed', result: { status: 'failed', error: null, reason: HOSTILE } },
])('EDI-11: what a model or a file is called stays text in VS Code’s own chat: $kind', (given) => {
  const drawn = new MarkdownIt({ html: true, linkify: true }).render(told(event(given)).join(''));
  const unmarked = drawn.replace(/<\/?(?:p|em|strong)>/g, '');
  expect(unmarked).not.toMatch(/<[a-z]/);
  const text = unmarked.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&');
  expect(text).toContain(HOSTILE);
});

test.each([
  [{ intent: 'READ_FILE', path: 'a' }, { tool: 'read_file', arguments: { path: 'a' }, intent: 'READ_FILE' }],
  [{ path: 'a' }, { tool: 'read_file', arguments: { path: 'a' }, intent: null }],
  ['no object', { tool: 'read_file', arguments: {}, intent: null }],
])('EDI-11: an agent’s call declares its intent, or none and is refused: %j', (input, call) => {
  expect(callOf('remit_read_file', input)).toEqual({ type: 'call', ...call });
});

test('EDI-11: one message is the prompt, several say whose they are, others are instructions', () => {
  expect(requestOf([{ role: 1, content: 'hello' }])).toEqual({ prompt: 'hello' });
  const parts = (value: string): readonly object[] => [{ value }, { other: 1 }];
  expect(requestOf([{ role: 3, content: 'be short' }, { role: 1, content: parts('a') }, { role: 2, content: 'b' }, { role: 1, content: 'c' }]))
    .toEqual({ prompt: 'User: a\n\nAssistant: b\n\nUser: c', instructions: 'be short' });
});

test('EDI-11: no model is offered before the server has said which', () => { expect(infoOf(null)).toEqual([]); });
