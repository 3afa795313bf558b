// An answer that grows block by block ends up the same as if it were drawn at once (EDI-05).
import { expect, test } from 'vitest';
import { grow, NO_BLOCKS, type Blocks } from '../../src/webview/blocks';
import { markdown } from '../../src/webview/markdown';

const TEXTS = {
  prose: 'One line\nof two.\n\nAnother *paragraph*.\n\n# Heading\ntext\nSetext\n===\n\nend',
  lists: '- a\n- b\n\n  more of b\n*c* is lazy\n\n1. x\n2. y\n\n   ```py\n   z\n   ```\n\nafter\n* other\n',
  code: 'see\n```python\ndef f():\n\n    return 1\n```\nthen\n~~~\na\n```\nb\n~~~\n    indented\n\n    code\n',
  table: 'x\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nend\n> quote\nlazy\n\n---\n#tag\n',
  names: '[Docs] are at [home][1].\n\n[1]: https://a.example\n\nAgain [home][1], [docs].\n\n[docs]: https://b.example\n',
};

function html({ whole, tail, names }: Blocks): string {
  return [...whole, ...tail].map((block) => (block.kind === 'markdown' ? markdown(block.text, names) : '')).join('');
}

for (const [name, text] of Object.entries(TEXTS)) {
  test.each([1, 2, 3, 7, 1_000])(`EDI-05 ${name}, %i characters at a time`, (step) => {
    let blocks = NO_BLOCKS;
    for (let end = step; end < text.length + step; end += step) {
      const next = grow(blocks, text.slice(0, end));
      // Complete blocks do not change.
      expect(next.whole.slice(0, blocks.whole.length)).toEqual(blocks.whole);
      expect([...next.whole, ...next.tail].map((block) => (block.kind === 'markdown' ? block.text : '')).join('').length).toBeLessThanOrEqual(end);
      blocks = next;
    }
    expect(blocks.text.slice(blocks.end)).not.toBe(text);
    const done = grow(blocks, `${text}\n\nLast.\n\n`);
    expect(html(done)).toBe(markdown(`${text}\n\nLast.\n\n`));
  });
}

test('EDI-05 of a long answer only the end is looked at again', () => {
  const paragraph = 'word '.repeat(40);
  let blocks = NO_BLOCKS;
  for (let n = 1; n <= 50; n += 1) blocks = grow(blocks, `${blocks.text}${paragraph}\n\n`);
  expect(blocks.whole).toHaveLength(49);
  expect(blocks.text.length - blocks.end).toBeLessThan(2 * paragraph.length);
});

test('EDI-05 code that is still open comes in pieces, with every character', () => {
  const code = Array.from({ length: 90 }, (_, n) => `line ${n}`).join('\n');
  const [open] = grow(NO_BLOCKS, `\`\`\`py\n${code}`).tail;
  expect(open?.kind === 'open_code' && open.pieces.length).toBe(3);
  expect(open?.kind === 'open_code' && open.pieces.join('')).toBe(code);
  expect(grow(NO_BLOCKS, `\`\`\`py\n${code}\n\`\`\``).tail[0]?.kind).toBe('markdown');
});

test('a text that is another one begins anew', () => {
  expect(grow(grow(NO_BLOCKS, 'a\n\nb\n'), 'c').tail).toEqual([{ kind: 'markdown', text: 'c' }]);
});
