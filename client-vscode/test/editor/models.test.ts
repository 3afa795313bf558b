// EDI-06, MOD-26: each row of the list of models says where messages are sent, and models that cannot be used come last.
import { expect, test, vi } from 'vitest';

vi.mock('vscode', async () => import('../vscode-stub'));

import { destination, rows } from '../../src/editor/models';

const MODELS = [
  { reference: 'org/gone', about: '', configured: false, usable: false, problem: 'it was not fetched', sent_to: null, whole: true },
  { reference: 'ollama:qwen3', about: 'Ollama', configured: true, usable: true, problem: null, sent_to: null, whole: true },
  { reference: 'openai:', about: 'hosted', configured: false, usable: true, problem: null, sent_to: 'api.openai.com', whole: false },
];

test('each row says where messages go', () => {
  const shown = rows(MODELS);
  expect(shown.map(({ label }) => label)).toEqual([
    '$(vm) ollama:qwen3', '$(cloud) openai:…', '$(warning) org/gone', expect.stringContaining('$(globe)'), expect.stringContaining('$(pencil)'),
  ]);
  expect(shown[0]!.detail).toContain(destination(null));
  expect(shown[1]!.detail).toContain('api.openai.com');
  expect(shown[2]!.detail).toContain('it was not fetched');
});

test('a whole reference is taken as it stands', async () => {
  expect(await rows(MODELS)[0]!.ask()).toBe('ollama:qwen3');
});
