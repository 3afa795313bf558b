// Each placeholder of the manifest has a text in `package.nls.json`, and no text there is unused.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const read = (name: string): string => readFileSync(new URL(`../${name}`, import.meta.url), 'utf8');

test('the manifest and its strings know each other', () => {
  const used = [...read('package.json').matchAll(/"%([^%"]+)%"/g)].map((match) => match[1]!);
  expect([...new Set(used)].sort()).toEqual(Object.keys(JSON.parse(read('package.nls.json')) as object).sort());
});
