// The state of the server as the chat and the status bar get it, in any order of events.
import { describe, expect, test } from 'vitest';
import type { StatusResult } from '../../src/contract';
import type { Problem } from '../../src/problem';
import { watchHealth, type Condition, type ServerControl } from '../../src/server/health';

const STATUS = { model: 'built-in' } as StatusResult;
const BROKEN: Problem = { code: 'policy_invalid', what: 'x', why: 'y', fix: 'z' };

class FakeServer implements ServerControl {
  up = false;
  starts: { readonly done: () => void; readonly fail: (problem: Problem) => void }[] = [];
  answer: StatusResult | Problem = STATUS;
  readonly running = (): boolean => this.up;
  restart(): Promise<void> {
    return new Promise((done, fail) => {
      this.starts.push({ done: () => { this.up = true; done(); }, fail });
    });
  }
  status(): Promise<StatusResult> {
    return 'what' in this.answer ? Promise.reject(this.answer) : Promise.resolve(this.answer);
  }
}

function watch() {
  const server = new FakeServer();
  const told: Condition[] = [];
  return { server, told, health: watchHealth(server, (condition) => told.push(condition)) };
}

describe('starting', () => {
  test('goes from starting to ready, with the status', async () => {
    const { server, told, health } = watch();
    const started = health.start();
    server.starts[0]!.done();
    await started;
    expect(told).toEqual([
      { state: 'starting', status: null, problem: null },
      { state: 'ready', status: STATUS, problem: null },
    ]);
  });

  test('that fails leaves it stopped, with the problem', async () => {
    const { server, health } = watch();
    const started = health.start();
    server.starts[0]!.fail(BROKEN);
    await started;
    expect(health.condition()).toEqual({ state: 'stopped', status: null, problem: BROKEN });
  });

  test('that was overtaken by another has nothing more to say', async () => {
    const { server, health } = watch();
    const [first, second] = [health.start(), health.start()];
    server.starts[1]!.done();
    await second;
    server.starts[0]!.fail(BROKEN);
    await first;
    expect(health.condition()).toMatchObject({ state: 'ready', problem: null });
  });
});

describe('a server that runs', () => {
  async function ready() {
    const all = watch();
    const started = all.health.start();
    all.server.starts[0]!.done();
    await started;
    return all;
  }

  test('and cannot work says why, until it can', async () => {
    const { server, health } = await ready();
    server.answer = BROKEN;
    await health.refresh();
    expect(health.condition()).toEqual({ state: 'ready', status: null, problem: BROKEN });
    server.answer = STATUS;
    await health.refresh();
    expect(health.condition()).toEqual({ state: 'ready', status: STATUS, problem: null });
  });

  test('and is lost for good is stopped', async () => {
    const { server, health } = await ready();
    server.up = false;
    health.moved(BROKEN);
    expect(health.condition()).toMatchObject({ state: 'stopped', problem: BROKEN });
  });

  test('and is started again by itself is starting until it is back', async () => {
    const { server, health } = await ready();
    server.up = false;
    health.moved(null);
    expect(health.condition()).toMatchObject({ state: 'starting', problem: null });
    server.up = true;
    health.moved(null);
    expect(health.condition()).toMatchObject({ state: 'ready', problem: null });
  });
});
