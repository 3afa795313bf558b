// A server that cannot be started says why, and no process is left behind. Uses real processes.
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { spawnServer } from '../../src/server/process';

let folder = '';
beforeAll(() => { folder = mkdtempSync(path.join(tmpdir(), 'remit-process-')); });
afterAll(() => { rmSync(folder, { recursive: true }); });

function program(name: string, text: string): string {
  const file = path.join(folder, name);
  writeFileSync(file, text);
  chmodSync(file, 0o755);
  return file;
}

test('one that ends at once is quoted', async () => {
  const server = spawnServer(program('dies', '#!/bin/sh\necho one >&2; echo "no module named x" >&2; exit 3\n'), folder, {});
  expect(await server.failure(new Error('write EPIPE'))).toMatchObject({
    code: 'server_failed', why: 'it ended with code 3, saying: no module named x',
  });
});

test('one whose interpreter is gone says so', async () => {
  const server = spawnServer(program('gone', '#!/no/such/python\n'), folder, {});
  expect((await server.failure(new Error('closed'))).why).toMatch(/ENOENT/);
});

test('one that never answers is stopped', async () => {
  const server = spawnServer(program('hangs', '#!/bin/sh\nexec sleep 60\n'), folder, {}, 100);
  await once(server.child, 'close');
  expect((await server.failure(new Error('closed'))).why).toBe('it did not answer within 0.1 seconds');
});

test('one that is ended leaves when its input ends, and has the environment it was given', async () => {
  const server = spawnServer(program('reads', '#!/bin/sh\necho "$REMIT_MODEL $1"; exec cat\n'), folder, { REMIT_MODEL: 'm' });
  const [said] = await once(server.child.stdout, 'data') as [Buffer];
  expect(said.toString()).toBe('m serve\n');
  server.started();
  server.end('it was stopped');
  await once(server.child, 'close');
  expect((await server.failure(new Error('closed'))).why).toBe('it was stopped');
});
