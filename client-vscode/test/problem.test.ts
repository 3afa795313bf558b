// Every problem says what happened, why and how to fix it, and its buttons run existing commands.
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { inWords, isRemedy, placeOf, problemOf, REMEDIES, remediesFor, type Problem, type ProblemCode } from '../src/problem';

const PROBLEM: Problem = { code: 'policy_invalid', what: 'the policy `p` cannot be used', why: '/a b/p.yaml:3:5: the key is missing', fix: 'add it' };

describe('whatever a request rejects with', () => {
  test('an error of the server keeps its code, what, why and fix', () => {
    const data = { code: 'policy_invalid', what: 'a', why: 'b', fix: 'c' };
    expect(problemOf({ code: -32602, message: 'm', data })).toEqual(data);
  });

  test('a problem stays as it is', () => { expect(problemOf(PROBLEM)).toBe(PROBLEM); });

  test.each([
    [{ code: -32800, message: 'm' }, 'cancelled', 'you stopped it'],
    [{ code: -32097, message: 'm' }, 'connection_lost', 'its process is gone; nothing was allowed after that'],
    [new Error('odd'), 'internal', 'odd'],
    [{ data: { what: 'half' }, message: 'no words' }, 'internal', 'no words'],
    [undefined, 'internal', 'undefined'],
  ])('%j', (error, code, why) => { expect(problemOf(error)).toMatchObject({ code, why }); });
});

describe('what helps', () => {
  test('a problem that names a place opens it, whatever its code', () => {
    expect(remediesFor({ ...PROBLEM, code: 'invalid_request' })).toEqual(['file', 'retry']);
    expect(remediesFor({ ...PROBLEM, code: 'invalid_request', why: 'nowhere' })).toEqual([]);
  });

  test.each<[ProblemCode, string]>([
    ['no_folder', 'Open Folder'],
    ['server_missing', 'Install the Server'],
    ['install_failed', 'Install the Server'],
    ['server_failed', 'Show Log'],
    ['server_lost', 'Restart Server'],
    ['connection_lost', 'Ask Again'],
    ['policy_invalid', 'Open Policy'],
    ['model_unavailable', 'Ask Again'],
    ['internal', 'Show Log'],
  ])('%s: first of all, %s', (code, label) => {
    expect(remediesFor({ ...PROBLEM, code }).map((each) => REMEDIES[each].label)[0]).toBe(label);
  });

  test('a refusal needs no mending', () => { expect(remediesFor({ ...PROBLEM, code: 'denied' })).toEqual([]); });

  test('every button has a command of VS Code or of ours', () => {
    const table = readFileSync(new URL('../src/extension.ts', import.meta.url), 'utf8');
    for (const { command } of Object.values(REMEDIES)) {
      expect(command.startsWith('workbench.') || table.includes(`'${command}':`), command).toBe(true);
    }
  });

  test.each(['toString', '__proto__', 'eval', 3, null])('%j is no remedy', (value) => { expect(isRemedy(value)).toBe(false); });
});

test('the place that a problem names is where the editor goes', () => {
  expect(placeOf(PROBLEM)).toEqual({ file: '/a b/p.yaml', line: 2, character: 4 });
  expect(placeOf({ ...PROBLEM, why: 'no place' })).toBeNull();
});

test('where nothing draws markup, backticks are quotes', () => {
  expect(inWords(PROBLEM)).toBe('The policy “p” cannot be used: /a b/p.yaml:3:5: the key is missing. Add it.');
});
