// Places in files, as people and programs write them in texts (EDI-08).
import { expect, test } from 'vitest';
import { markdown } from '../../src/webview/markdown';
import { splitPlaces } from '../../src/webview/places';

test.each<[string, string, number, number]>([
  ['see src/cart.py:12 there', 'src/cart.py', 12, 1],
  ['(a.ts:3:7)', 'a.ts', 3, 7],
  ['./b/c-d.test.tsx:9', './b/c-d.test.tsx', 9, 1],
  ['/w/x.rs:4:2: error', '/w/x.rs', 4, 2],
  ['  File "pkg/m.py", line 31, in f', 'pkg/m.py', 31, 1],
])('EDI-08 %s', (text, path, line, column) => {
  const parts = splitPlaces(text);
  expect(parts.map((part) => part.text).join('')).toBe(text);
  expect(parts.filter((part) => part.place).map((part) => part.place)).toEqual([{ path, line, column }]);
});

test.each(['https://a.example:8080/x', 'http://127.0.0.1:80', 'at 12:30', 'v1.2.3', 'a.py', 'a.py:0x1', 'localhost:3000'])(
  '%s is no place', (text) => { expect(splitPlaces(text)).toEqual([{ text, place: null }]); });

test('EDI-08 places in an answer are buttons, in code and out of it, and hold nothing but the place', () => {
  const html = markdown('see `src/a.py:3` and b.py:4, not [c.py:5](https://a.example)');
  expect(html.match(/data-place=/g)).toHaveLength(2);
  expect(markdown('```\nsrc/a.py:3: x = 1\n```')).toContain('data-place=');
  expect(html).toContain('data-place="{&quot;path&quot;:&quot;src/a.py&quot;,&quot;line&quot;:3,&quot;column&quot;:1}"');
  expect(markdown('File "<img src=x>", line 3')).not.toContain('<img');
});
