// What can be attached to a message, and the names of attachments (EDI-06).
import { expect, test } from 'vitest';
import { attachmentName, isAttachments, MOST_ATTACHMENTS, takesAttachments, withAttachments, type Attachment } from '../../src/chat/attached';

const selection: Attachment = { type: 'selection', path: 'a.py', text: 'x', range: { start: { line: 3, character: 0 }, end: { line: 7, character: 1 } } };

test.each<[Attachment, string]>([
  [{ type: 'file', path: 'src/a.py' }, 'src/a.py'],
  [selection, 'a.py:4-8'],
  [{ ...selection, range: { start: { line: 3, character: 0 }, end: { line: 3, character: 5 } } }, 'a.py:4'],
  [{ type: 'diagnostics', path: null }, 'all problems'],
  [{ type: 'diagnostics', path: 'a.py' }, 'problems in a.py'],
  [{ type: 'symbol', name: 'total' }, 'symbol total'],
])('EDI-06 %j is called %s', (attachment, name) => {
  expect(attachmentName(attachment)).toBe(name);
  expect(isAttachments([attachment])).toBe(true);
});

test('EDI-06 each goes once, and no more than the server takes', () => {
  const files = Array.from({ length: 40 }, (_, n): Attachment => ({ type: 'file', path: `${n}` }));
  expect(withAttachments([selection], [selection])).toEqual([selection]);
  expect(withAttachments([selection], files)).toHaveLength(MOST_ATTACHMENTS);
});

test('EDI-06 a command takes none', () => {
  expect(['/status', ' !ls'].some(takesAttachments)).toBe(false);
  expect(takesAttachments('what does a/b do?')).toBe(true);
});

test('what is no attachment is not taken', () => {
  for (const value of [null, {}, [null], [{ type: 'image', path: 'a' }], [{ type: 'file' }], [{ type: 'selection', path: 'a' }], Array.from({ length: 33 }, () => selection)]) {
    expect(isAttachments(value)).toBe(false);
  }
});
