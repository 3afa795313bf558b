// What the person leaves out, as it is sent (APP-09).
import { expect, test } from 'vitest';
import { commented, leftOut, partCount, partKey, toggled, type Parts } from '../../src/webview/parts';

const NONE: Parts = new Map();
const FILE = { path: 'a.py', diff: '', before_digest: null, after_digest: null, created: false, deleted: false, moved_from: null };

test('APP-09 a part is left out, with the words for it, and taken again', () => {
  const [second, whole] = [partKey('a.py', 1), partKey('b"\u202e.py', null)];
  const both = commented(toggled(toggled(NONE, second), whole), whole, '  not here ');
  expect(leftOut(both)).toEqual([
    { path: 'a.py', hunk: 1, comment: null }, { path: 'b"\u202e.py', hunk: null, comment: 'not here' },
  ]);
  expect(leftOut(toggled(both, whole))).toEqual([{ path: 'a.py', hunk: 1, comment: null }]);
  expect(leftOut(NONE)).toEqual([]);
});

test('APP-09 a file that has no hunks to take counts as one part', () => {
  expect(partCount([{ ...FILE, hunks: 3 }, { ...FILE, hunks: 0 }])).toBe(4);
  expect(partCount([])).toBe(0);
});
