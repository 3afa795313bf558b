// The status bar shows the most urgent thing first.
import { expect, test } from 'vitest';
import { EMPTY, reduce } from '../../src/chat/reduce';
import type { View } from '../../src/chat/view';
import { statusText } from '../../src/editor/status';
import type { ProblemCode } from '../../src/problem';
import type { ServerState } from '../../src/server/health';
import { asked, events, question, started, type Sent } from '../events';

function view(...all: readonly Sent[]): View {
  const begun = reduce(EMPTY, asked());
  return events(...all).reduce((each, event) => reduce(each, { type: 'event', event }), begun);
}

test.each([
  ['stopped' as const, view(started, question()), '$(circle-slash) Remit: not running', true],
  ['starting' as const, EMPTY, '$(loading~spin) Remit: starting', false],
  ['ready' as const, view(started, question()), '$(bell-dot) Remit: waiting for approval', true],
  ['ready' as const, view(started), '$(loading~spin) Remit: running', false],
  ['ready' as const, { ...EMPTY, model: 'built-in' }, '$(shield) Remit: built-in', false],
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
