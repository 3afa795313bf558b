// The sample requests are about the open file (EDI-14).
import { expect, test } from 'vitest';
import { samplesFor } from '../../src/editor/samples';

test('EDI-14 they name the file, and a name of it where one is known', () => {
  expect(samplesFor('src/cart.py', 'total')).toEqual([
    'rename total to new_name in src/cart.py', 'which file defines total?', 'explain src/cart.py', 'run the tests',
  ]);
  expect(samplesFor('notes.md', null)).toEqual(['explain notes.md', 'run the tests']);
});
