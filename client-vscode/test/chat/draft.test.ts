// The unsent message outlives a reload of the window (EDI-05).
import { expect, test } from 'vitest';
import { keepDraft } from '../../src/chat/draft';

/** A memory whose stores end when the test says so. */
function slowMemory() {
  const begun: unknown[] = [];
  const ends: { readonly resolve: () => void; readonly reject: (error: Error) => void }[] = [];
  return {
    begun,
    end: async (error?: Error): Promise<void> => {
      const { resolve, reject } = ends.shift()!;
      if (error) reject(error);
      else resolve();
      await new Promise((next) => setTimeout(next));
    },
    get: <T>(_key: string, otherwise: T): T => otherwise,
    update: (_key: string, value: unknown) => {
      begun.push(value);
      return new Promise<void>((resolve, reject) => ends.push({ resolve, reject }));
    },
  };
}

const typed = (text: string) => ({ text, attachments: [] });

test('EDI-05 a draft is stored at once, and of what is typed meanwhile only the newest', async () => {
  const memory = slowMemory();
  const drafts = keepDraft(memory);
  for (const text of ['w', 'wr', 'wri']) void drafts.keep(typed(text));
  expect(memory.begun).toEqual([typed('w')]);
  expect(drafts.get()).toEqual(typed('wri'));
  await memory.end();
  expect(memory.begun).toEqual([typed('w'), typed('wri')]);
  await memory.end();
  expect(memory.begun).toHaveLength(2);
});

test('EDI-05 a draft that could not be stored says so, and the next one is stored', async () => {
  const memory = slowMemory();
  const drafts = keepDraft(memory);
  const failed = drafts.keep(typed('lost'));
  await Promise.all([expect(failed).rejects.toThrow('the disk is full'), memory.end(new Error('the disk is full'))]);
  void drafts.keep(typed('kept'));
  expect(memory.begun.at(-1)).toEqual(typed('kept'));
});
