// The parts that the person leaves out, in the form in which they are sent (APP-09).
import { expect, test } from 'vitest';
import { commented, isLeftOut, partCount, toggled } from '../../src/chat/parts';

const FILE = { path: 'a.py', diff: '', before_digest: null, after_digest: null, created: false, deleted: false, moved_from: null };
const SECOND = { path: 'a.py', hunk: 1 };
const WHOLE = { path: 'b"\u202e.py', hunk: null };

test('APP-09 a part is left out, with the words for it, and taken again', () => {
  const both = commented(toggled(toggled([], SECOND), WHOLE), WHOLE, '  not here ');
  expect(both).toEqual([{ ...SECOND, comment: null }, { ...WHOLE, comment: 'not here' }]);
  expect(isLeftOut(both, WHOLE)).toBe(true);
  expect(isLeftOut(both, { ...SECOND, hunk: null })).toBe(false);
  expect(toggled(both, WHOLE)).toEqual([{ ...SECOND, comment: null }]);
  expect(commented([], SECOND, ' ')).toEqual([{ ...SECOND, comment: null }]);
});

test('APP-09 a file that has no hunks to take counts as one part', () => {
  expect(partCount([{ ...FILE, hunks: 3 }, { ...FILE, hunks: 0 }])).toBe(4);
  expect(partCount([])).toBe(0);
});
