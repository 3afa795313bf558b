// Draws turns as the panel does, to compare what is shown with what happened: reads turns as JSON and writes HTML.
import fs from 'node:fs';
import { renderToString } from 'preact-render-to-string';
import { EMPTY, reduce } from '../src/chat/reduce';
import type { AgentEvent } from '../src/contract';
import { rowsOf } from '../src/webview/rows';
import { RowView } from '../src/webview/turn';

interface Turn {
  readonly session_id: string;
  readonly turn_id: string;
  readonly events: readonly AgentEvent[];
}

function draw({ session_id, turn_id, events }: Turn): string {
  const asked = reduce(EMPTY, { type: 'asked', session_id, turn_id, prompt: 'do it', attached: [], folders: [] });
  const view = events.reduce((each, event) => reduce(each, { type: 'event', event }), asked);
  return renderToString(<>{rowsOf(view).map((row) => <RowView key={row.key} row={row} send={() => undefined} />)}</>);
}

const turns = JSON.parse(fs.readFileSync(0, 'utf8')) as readonly Turn[];
process.stdout.write(JSON.stringify(turns.map(draw)));
