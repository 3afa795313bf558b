// Which server is started: the one of the setting, the workspace's own (asked about elsewhere), or the one on the PATH.
import { homedir } from 'node:os';
import { describe, expect, test } from 'vitest';
import { locate } from '../../src/server/find';

const NOWHERE = { setting: '', workspace: '/w', own: null, searchPath: '/usr/bin:/opt/bin' };

function having(...programs: readonly string[]): (program: string) => boolean {
  return (program) => programs.includes(program);
}

describe('locate', () => {
  test('the setting wins', () => {
    const found = locate({ ...NOWHERE, setting: '/s/remit' }, having('/s/remit', '/w/.venv/bin/remit', '/usr/bin/remit'));
    expect(found).toEqual({ kind: 'found', program: '/s/remit', from: 'setting' });
  });

  test('the setting may start at home', () => {
    expect(locate({ ...NOWHERE, setting: '~/remit' }, () => true)).toMatchObject({ program: `${homedir()}/remit` });
  });

  test('what the workspace brought is before what was installed by the button, and that before the PATH', () => {
    const own = { ...NOWHERE, own: '/own/bin/remit' };
    expect(locate(own, having('/w/.venv/bin/remit', '/own/bin/remit'))).toMatchObject({ from: 'workspace' });
    expect(locate(own, having('/own/bin/remit', '/usr/bin/remit'))).toEqual({ kind: 'found', program: '/own/bin/remit', from: 'installed' });
  });

  test('then the workspace, then the PATH in its order', () => {
    expect(locate(NOWHERE, having('/w/.venv/bin/remit', '/usr/bin/remit'))).toMatchObject({ from: 'workspace' });
    expect(locate(NOWHERE, having('/opt/bin/remit', '/usr/bin/remit'))).toMatchObject({ program: '/usr/bin/remit', from: 'PATH' });
  });

  test('a setting that is wrong is said, not passed over', () => {
    expect(locate({ ...NOWHERE, setting: '/gone' }, having('/usr/bin/remit'))).toMatchObject({ kind: 'missing', why: expect.stringContaining('/gone') });
    expect(locate({ ...NOWHERE, setting: 'bin/remit' }, () => true)).toMatchObject({ kind: 'missing', why: expect.stringContaining('not an absolute path') });
  });

  test('a relative entry of the PATH is not followed', () => {
    expect(locate({ ...NOWHERE, workspace: null, searchPath: '.:bin:' }, () => true)).toMatchObject({ kind: 'missing' });
  });

  test('nothing anywhere says what to do', () => {
    expect(locate(NOWHERE, () => false)).toMatchObject({ kind: 'missing', fix: expect.stringContaining('install') });
  });
});
