// The state of the server (starting, ready or stopped) and its problem, if any. Knows the server as a port.
import type { StatusResult } from '../contract';
import { problemOf, type Problem } from '../problem';

export type ServerState = 'starting' | 'ready' | 'stopped';

export interface Condition {
  readonly state: ServerState;
  readonly status: StatusResult | null;
  readonly problem: Problem | null;
}

export interface ServerControl {
  status(): Promise<StatusResult>;
  restart(): Promise<void>;
  readonly running: () => boolean;
}

export interface Health {
  readonly condition: () => Condition;
  /** Starts the server again. If another start follows meanwhile, only the result of the last one counts. */
  readonly start: () => Promise<void>;
  /** Asks the server for its status. */
  readonly refresh: () => Promise<void>;
  /** Handles a server that started or ended by itself; with a problem if it will not be started again, else without one. */
  readonly moved: (problem: Problem | null) => void;
}

export function watchHealth(server: ServerControl, changed: (condition: Condition) => void): Health {
  let condition: Condition = { state: 'starting', status: null, problem: null };
  let starts = 0;
  let starting = false;

  const become = (change: Partial<Condition>): void => {
    condition = { ...condition, ...change };
    changed(condition);
  };
  const refresh = async (): Promise<void> => {
    const mine = starts;
    const next = await server.status().then(
      (status): Condition => ({ state: 'ready', status, problem: null }),
      (error: unknown): Condition => ({ state: server.running() ? 'ready' : 'stopped', status: null, problem: problemOf(error) }),
    );
    if (mine === starts) become(next);
  };
  const start = async (): Promise<void> => {
    const mine = ++starts;
    starting = true;
    become({ state: 'starting', problem: null });
    try {
      await server.restart();
      if (mine === starts) await refresh();
    } catch (error) {
      if (mine === starts) become({ state: 'stopped', status: null, problem: problemOf(error) });
    }
    if (mine === starts) starting = false;
  };
  const moved = (problem: Problem | null): void => {
    if (starting) return;
    if (!server.running()) become({ state: problem ? 'stopped' : 'starting', problem });
    else if (condition.state !== 'ready') become({ state: 'ready', problem: null });
  };
  return { condition: () => condition, start, refresh, moved };
}
