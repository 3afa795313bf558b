// Code in a diff is highlighted line by line, and no part of it becomes HTML (EDI-02).
import { expect, test } from 'vitest';
import { diffLines } from '../../src/text';
import { highlightHunk } from '../../src/webview/syntax';

const text = (html: string): string => html.replace(/<[^>]*>/g, '').replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&quot;', '"')
  .replaceAll('&#x27;', "'").replaceAll('&amp;', '&');

test('EDI-02 each line keeps its text, with spans that end where it ends', () => {
  const hunk = diffLines('@@ -1,4 +1,5 @@\n def f():\n-    """One\n-    two"""\n+    """<b>One\n+    & two"""\n+    return 1\n x = 2\n').slice(1);
  const html = highlightHunk(hunk, 'src/a.py')!;
  expect(html.map(text)).toEqual(hunk.map((line) => line.text));
  expect(html[3]).toContain('&lt;b&gt;');
  for (const line of html) expect(line.match(/<span/g)?.length ?? 0).toBe(line.match(/<\/span>/g)?.length ?? 0);
  expect(html.join()).toContain('hljs-keyword');
  expect(html[4], 'a text of several lines is one text').toContain('hljs-string');
});

test('a language that is not known has no colours', () => { expect(highlightHunk(diffLines('@@ -1 +1 @@\n-a\n+b\n').slice(1), 'a.unknown')).toBeNull(); });
