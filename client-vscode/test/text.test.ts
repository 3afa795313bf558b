// THR-approvals-hidden-payload: what a person approves is shown exactly, with every hidden character spelled out.
import { describe, expect, test } from 'vitest';
import { added, commandLine, diffLines, duration, hunksOf, patched, remaining, removed, visible, visibleLine } from '../src/text';

describe('visible', () => {
  test.each([
    ['right-to-left override', 'a\u202Eb', 'a⟨U+202E⟩b'],
    ['isolate', '\u2066x', '⟨U+2066⟩x'],
    ['zero width space', 'a\u200Bb', 'a⟨U+200B⟩b'],
    ['soft hyphen', 'a\u00ADb', 'a⟨U+00AD⟩b'],
    ['escape', '\u001B[2K', '⟨U+001B⟩[2K'],
    ['carriage return', 'safe\rrm', 'safe⟨U+000D⟩rm'],
    ['tag', '\u{E0041}', '⟨U+E0041⟩'],
    ['variation selector', 'a\uFE0F', 'a⟨U+FE0F⟩'],
    ['hangul filler', '\u3164', '⟨U+3164⟩'],
    ['blank braille', 'a\u2800b', 'a⟨U+2800⟩b'],
    ['grapheme joiner', 'a\u034Fb', 'a⟨U+034F⟩b'],
    ['line separator', 'a\u2028b', 'a⟨U+2028⟩b'],
    ['lone surrogate', '\uD800', '⟨U+D800⟩'],
  ])('%s', (_name, text, shown) => { expect(visible(text)).toBe(shown); });

  test('ordinary text of any script stays as it is', () => {
    const text = 'tab\there\nνέο 新しい 👩 é עברית';
    expect(visible(text)).toBe(text);
  });

  test('one line stays one line', () => { expect(visibleLine('a\nb\tc')).toBe('a↵b⇥c'); });
});

test('an argument vector cannot pass for more or fewer arguments than it has', () => {
  expect(commandLine(['ls', '-l', 'a b', '', "it's", 'x; rm -rf /', 'a\nb'])).toBe(
    `ls -l 'a b' '' 'it'\\''s' 'x; rm -rf /' 'a↵b'`,
  );
});

const DIFF = '--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n a\n-b\n+c\n d\n';

describe('diffs', () => {
  test('lines have their kind and number', () => {
    expect(diffLines(DIFF).map(({ kind, before, after, text }) => [kind, before, after, text])).toEqual([
      ['hunk', null, null, 'lines 1–3'],
      ['same', 1, 1, 'a'],
      ['remove', 2, null, 'b'],
      ['add', null, 2, 'c'],
      ['same', 3, 3, 'd'],
    ]);
    expect([added(diffLines(DIFF)), removed(diffLines(DIFF))]).toEqual([1, 1]);
  });

  test('a removed line that looks like a file header is a removed line', () => {
    const diff = '--- a/x\n+++ b/x\n@@ -1,2 +1,1 @@\n--- comment\n a\n';
    expect(diffLines(diff)[1]).toMatchObject({ kind: 'remove', text: '-- comment' });
  });

  test('hidden characters in a line are shown', () => {
    expect(diffLines('@@ -0,0 +1,1 @@\n+a\u200Bb\n')[1]).toMatchObject({ kind: 'add', text: 'a⟨U+200B⟩b' });
  });

  test.each(['', 'no diff at all', '@@ -1,9 +1,9 @@\n a\n', '(not text: only its digest is shown)\n'])(
    'what is no diff is shown as it is: %j',
    (text) => { expect(diffLines(text).map((line) => line.text).join('\n')).toBe(text); },
  );

  test('a diff that does not fit is not applied', () => {
    expect(patched('a\nb\nd\n', DIFF)).toBe('a\nc\nd\n');
    expect(patched('a\nB\nd\n', DIFF)).toBeNull();
    expect(patched('a\n', 'nonsense')).not.toBe('');
  });

  test('APP-09 a hunk is where its first change is', () => {
    const diff = '--- a\n+++ b\n@@ -1,4 +1,3 @@\n a\n-b\n c\n d\n@@ -9,0 +9,2 @@\n+x\n+y\n@@ -20 +22 @@\n-p\n+q\n';
    expect(hunksOf(diff).map((hunk) => [hunk.line, hunk.lines.length])).toEqual([[1, 4], [9, 2], [19, 2]]);
    expect(hunksOf('(not text: only its digest is shown)\n')).toEqual([]);
  });

  test('a diff that empties a file is applied', () => {
    expect(patched('a\n', '--- a/x\n+++ b/x\n@@ -1 +0,0 @@\n-a\n')).toBe('');
  });
});

test.each([[0.2, '<1 ms'], [7.4, '7 ms'], [1300, '1.3 s'], [61_000, '1 min 1 s']])('%d ms reads %s', (ms, text) => {
  expect(duration(ms)).toBe(text);
});

test('a deadline counts down to nothing, and a broken one is over', () => {
  const at = Date.parse('2026-01-01T00:00:00Z');
  expect(remaining('2026-01-01T00:05:00Z', at)).toBe('5:00 min');
  expect(remaining('2026-01-01T00:00:09Z', at)).toBe('9 s');
  expect(remaining('2026-01-01T00:00:00Z', at)).toBeNull();
  expect(remaining('soon', at)).toBeNull();
});
