// Recalling earlier messages with the arrow keys.
import { expect, test } from 'vitest';
import { recall } from '../../src/webview/history';

const SAID = ['one', 'two', 'two', 'three'];

test('the arrow goes back through what was said, each once, and forward again to an empty input', () => {
  expect(recall(SAID, 'ArrowUp', '', null)).toEqual({ at: 0, text: 'three' });
  expect(recall(SAID, 'ArrowUp', 'three', 0)).toEqual({ at: 1, text: 'two' });
  expect(recall(SAID, 'ArrowUp', 'two', 1)).toEqual({ at: 2, text: 'one' });
  expect(recall(SAID, 'ArrowUp', 'one', 2)).toEqual({ at: 2, text: 'one' });
  expect(recall(SAID, 'ArrowDown', 'two', 1)).toEqual({ at: 0, text: 'three' });
  expect(recall(SAID, 'ArrowDown', 'three', 0)).toEqual({ at: null, text: '' });
});

test('an input that was emptied begins anew', () => {
  expect(recall(SAID, 'ArrowUp', '', 2)).toEqual({ at: 0, text: 'three' });
});

test('what is typed is left alone', () => {
  expect(recall(SAID, 'ArrowUp', 'typing', null)).toBeNull();
  expect(recall(SAID, 'ArrowUp', 'three, changed', 0)).toBeNull();
  expect(recall(SAID, 'ArrowDown', '', null)).toBeNull();
  expect(recall([], 'ArrowUp', '', null)).toBeNull();
});
