// The chat uses the editor's language where a translation exists (EDI-07).
import { renderToString } from 'preact-render-to-string';
import { afterEach, expect, test } from 'vitest';
import { Welcome } from '../src/webview/welcome';
import { say, speak } from '../src/words';

afterEach(() => speak({}));

test('EDI-07 a translation takes the place of the English words, with the values where it wants them', () => {
  speak({ 'Allow {0} of {1} once': '{1} Teile, davon {0} erlauben', 'What should Remit do?': 'Was ist zu tun?' });
  expect(say('Allow {0} of {1} once', 2, 3)).toBe('3 Teile, davon 2 erlauben');
  expect(say('Deny')).toBe('Deny');
  expect(renderToString(<Welcome model={null} samples={[]} fill={() => undefined} chooseModel={() => undefined} />)).toContain('Was ist zu tun?');
});

test('a value is never taken for a place of its own', () => { expect(say('{0} of {1}', '{1}', 'b')).toBe('{1} of b'); });
