// The rows of the audit log and of the policy's rules in their lists (LSP-11).
import { expect, test } from 'vitest';
import { decidedRow, ruleGroups, ruleRow, type CountedRule } from '../src/governance';

const CALL = {
  number: 7, time: '2026-01-01T10:00:00Z', tool_name: 'read_file', intent: 'READ_FILE', policy_decision: 'denied',
  policy_rule_name: 'secrets, other', policy_rule_at: '/w/.remit/policy.yaml:4, /w/.remit/policy.yaml:9',
  actions: '[{"path":"secret/b\u202e.txt"}]', session_id: 's',
};
const RULE: CountedRule = {
  rule: 'reads', layer: 'project', project: true, action: 'allow', match: 'fs.read', file: '/w/.remit/policy.yaml', line: 3,
  hits: { allowed: 3, denied: 1 }, dead: [], shadowed_by: null,
};

test('LSP-11 a call says what it was about, how it was decided and where the rule stands', () => {
  expect(decidedRow(CALL)).toMatchObject({
    label: 'read_file secret/b⟨U+202E⟩.txt', icon: 'error', place: { rule: 'secrets', file: '/w/.remit/policy.yaml', line: 4 },
  });
  expect(decidedRow(CALL).tooltip).toContain('denied by secrets, other');
});

test('LSP-11 a call that no rule decided leads nowhere, and one without arguments is named by its tool', () => {
  const row = decidedRow({ number: 1, time: CALL.time, tool_name: null, actions: 'no json' });
  expect(row).toMatchObject({ label: 'a call', place: null, icon: 'circle-slash', colour: null });
  expect(decidedRow({ ...CALL, policy_rule_at: null }).place).toEqual({ rule: 'secrets' });
  expect(decidedRow({ ...CALL, actions: '[{"path":{"x":1}}]' }).label).toBe('read_file');
  expect(decidedRow({ ...CALL, tool_name: 'run_command', actions: '[{"command":["ls","-l"]}]' }).label).toBe('run_command ls -l');
});

test('LSP-11 a call that was asked about shows how it ended, and a command is named', () => {
  const asked = { ...CALL, policy_decision: 'review_required' };
  const said = 'this was not done: the person said no';
  expect(decidedRow(asked).icon).toBe('question');
  expect(decidedRow({ ...asked, failed: false, came_to: 'edited b.txt' })).toMatchObject({ icon: 'pass' });
  const denied = decidedRow({ ...asked, failed: true, came_to: said });
  expect(denied).toMatchObject({ icon: 'error' });
  expect(denied.description).toContain('not done');
  expect(denied.tooltip).toContain(`Not done: ${said}`);
  expect(decidedRow({ ...CALL, tool_name: 'run_command', actions: '[{"command":"ls lib"}]' }).label).toBe('run_command ls lib');
});

test('LSP-11 a call leads to the files that it was about, each once', () => {
  const actions = '[{"path":"a.py"},{"path":"b.py"},{"path":"a.py"},{"path":7},null,{"command":["ls"]}]';
  expect(decidedRow({ ...CALL, actions }).files).toEqual(['a.py', 'b.py']);
  expect(decidedRow({ ...CALL, actions: 'no json' }).files).toEqual([]);
});

test('LSP-11 a rule says what it did, and one that never can says why', () => {
  expect(ruleRow(RULE)).toMatchObject({ label: 'reads', description: 'allowed 3, denied 1', icon: 'pass' });
  expect(ruleRow({ ...RULE, hits: {} }).description).toBe('no decisions');
  expect(ruleRow({ ...RULE, shadowed_by: 'secrets' })).toMatchObject({ description: 'shadowed by secrets', icon: 'warning' });
  expect(ruleRow({ ...RULE, file: null, line: null }).place).toBeNull();
});

test('LSP-11 rules stand in groups by where they come from', () => {
  const builtin = { ...RULE, layer: 'builtin', project: false, file: null };
  const titles = ruleGroups([RULE, { ...RULE, project: false, file: '/x/default.yaml' }, { ...RULE, project: false, file: '/x/workflow.yaml' }, builtin, builtin]).map((each) => each.title);
  expect(titles).toEqual(['The project’s (1 rule)', 'Packaged default (2 rules)', 'Built in (2 rules)']);
});
