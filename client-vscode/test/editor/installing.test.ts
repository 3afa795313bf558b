// Which server is older than the one that the extension includes (EDI-10).
import { expect, test } from 'vitest';
import { isNewer } from '../../src/editor/installing';

test.each([
  ['0.2.0', '0.1.9', true],
  ['0.10.0', '0.9.0', true],
  ['0.1.0', '0.1.0', false],
  ['0.1', '0.1.0', false],
  ['0.1.0', '0.2.0', false],
  ['1.0.0.1', '1.0.0', true],
  [undefined, '0.1.0', false],
])('EDI-10: %s is newer than %s: %s', (one, other, newer) => { expect(isNewer(one, other)).toBe(newer); });
