// Each string of the manifest has its words, in the file that translations replace, and no word is left over.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const read = (name: string): string => readFileSync(new URL(`../${name}`, import.meta.url), 'utf8');

test('the manifest and its strings know each other', () => {
  const used = [...read('package.json').matchAll(/"%([^%"]+)%"/g)].map((match) => match[1]!);
  expect([...new Set(used)].sort()).toEqual(Object.keys(JSON.parse(read('package.nls.json')) as object).sort());
});
