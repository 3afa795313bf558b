// The link to the webview: no change is lost or sent twice, and a silent webview is loaded again (EDI-05).
import { expect, test } from 'vitest';
import { openLink } from '../../src/chat/link';
import type { ToWebview } from '../../src/chat/messages';
import { EMPTY, reduce, type Change } from '../../src/chat/reduce';
import type { View } from '../../src/chat/view';
import { BEGIN, receive, type State } from '../../src/webview/feed';
import { asked, event, started } from '../events';

/** A host and its webview; `drops` says which messages are lost on the way. */
function open(drops: (number: number) => boolean = () => false) {
  let view: View = EMPTY;
  let webview: State = BEGIN;
  let sent = 0;
  let reloads = 0;
  let inSight = true;
  const timers: (readonly [milliseconds: number, run: () => void])[] = [];
  const link = openLink({
    post: (message: ToWebview) => { if (!drops(sent++)) webview = receive(webview, message); },
    view: () => view,
    inSight: () => inSight,
    reload: () => { reloads += 1; },
    later: (milliseconds, run) => {
      const timer = [milliseconds, run] as const;
      timers.push(timer);
      return () => { timers.splice(timers.indexOf(timer), 1); };
    },
  });
  const pass = (milliseconds: number): void => {
    for (const timer of timers.filter(([after]) => after <= milliseconds)) {
      timers.splice(timers.indexOf(timer), 1);
      timer[1]();
    }
  };
  const change = (each: Change): void => { view = reduce(view, each); link.send(each); };
  return { link, change, pass, webview: () => webview, view: () => view, sent: () => sent, reloads: () => reloads, hide: () => { inSight = false; } };
}

const words = (n: number): readonly Change[] => [
  asked(), { type: 'event', event: event(1, started) },
  ...Array.from({ length: n }, (_, each): Change => ({ type: 'event', event: event(each + 2, { kind: 'token_delta', text: `w${each} ` }) })),
];

test('EDI-05 the first change goes at once, those close behind it together', () => {
  const { link, change, pass, webview, view, sent } = open();
  link.redraw();
  for (const each of words(50)) change(each);
  expect(sent()).toBe(2);
  pass(16);
  expect(sent()).toBe(3);
  expect(webview().view).toEqual(view());
});

test.each([1, 2, 3, 5])('EDI-05 when message %i is lost the webview asks, and then has what the host has', (lost) => {
  const { link, change, pass, webview, view } = open((number) => number === lost);
  link.redraw();
  for (const each of words(20)) { change(each); pass(16); }
  expect(webview().lost).toBe(true);
  link.redraw();
  expect(webview().lost).toBe(false);
  expect(webview().view).toEqual(view());
  change({ type: 'event', event: event(99, { kind: 'token_delta', text: 'more' }) });
  expect(webview().view).toEqual(view());
});

test('EDI-05 a webview that says nothing is loaded again, one that answers or is out of sight is not', () => {
  const silent = open();
  silent.link.redraw();
  silent.change(asked());
  silent.pass(15_000);
  expect(silent.reloads()).toBe(1);

  const lively = open();
  lively.link.redraw();
  lively.change(asked());
  lively.link.seen(lively.webview().next, true);
  lively.pass(15_000);
  expect(lively.reloads()).toBe(0);
  lively.link.seen(lively.webview().next, false);
  expect(lively.reloads()).toBe(1);

  const hidden = open();
  hidden.change(asked());
  hidden.hide();
  hidden.pass(15_000);
  expect(hidden.reloads()).toBe(0);
});

test('EDI-05 what was not sent comes back, and never in place of what was typed since', () => {
  const draft = { text: 'half a sen', attachments: [] };
  const back = receive(BEGIN, { type: 'restored', draft });
  expect(back.draft).toEqual(draft);
  const typed = receive(BEGIN, { type: 'draft', draft: { text: 'new', attachments: [] } });
  expect(receive(typed, { type: 'restored', draft }).draft.text).toBe('new');
});
