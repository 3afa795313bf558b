// The built-in page: three views, of which the one that is seen is kept up to date.
import * as agents from './agents.js';
import * as audit from './audit.js';
import * as chat from './chat.js';
import { at } from './common.js';

const EVERY_MS = 5000;
const views = { chat, audit, agents };
const tabs = [...document.querySelectorAll('[role=tab]')];
let seen = 'chat';

function show(tab) {
  seen = tab.getAttribute('aria-controls');
  for (const each of tabs) {
    each.setAttribute('aria-selected', String(each === tab));
    each.tabIndex = each === tab ? 0 : -1;
    at(each.getAttribute('aria-controls')).hidden = each !== tab;
  }
  void views[seen].refresh();
}

tabs.forEach((tab, number) => {
  tab.addEventListener('click', () => show(tab));
  tab.addEventListener('keydown', (event) => {
    const to = { ArrowRight: number + 1, ArrowLeft: number - 1, Home: 0, End: tabs.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    const next = tabs[(to + tabs.length) % tabs.length];
    next.focus();
    show(next);
  });
});
chat.start();
audit.start();
await chat.refresh();
at('text').focus();
setInterval(() => document.visibilityState === 'visible' && seen !== 'audit' && void views[seen].refresh(), EVERY_MS);
