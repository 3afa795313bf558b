// How smooth the chat is, from the browser's trace and the frames of the webview. It is measured, but never asserted.

/** Traces the whole browser while `work` runs; returns how many frames were drawn and how many were dropped. */
export async function traced(page, work) {
  const client = await page.context().browser()?.newBrowserCDPSession() ?? await page.context().newCDPSession(page);
  const events = [];
  client.on('Tracing.dataCollected', ({ value }) => events.push(...value));
  await client.send('Tracing.start', {
    transferMode: 'ReportEvents',
    traceConfig: { includedCategories: ['devtools.timeline', 'devtools.timeline.frame', 'disabled-by-default-devtools.timeline.frame'] },
  });
  await work();
  const complete = new Promise((done) => { client.once('Tracing.tracingComplete', done); });
  await client.send('Tracing.end');
  await complete;
  await client.detach();
  const named = (name) => events.filter((event) => event.name === name).length;
  return { drawn: named('DrawFrame'), dropped: named('DroppedFrame') };
}

/** Starts to record a webview's frames and the messages that it gets. */
export function watchFrames(frame) {
  return frame.evaluate(() => {
    const seen = { frames: [], first: null, long: [] };
    window.remitSeen = seen;
    const tick = (now) => {
      seen.frames.push(now);
      if (!seen.stop) requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
    new PerformanceObserver((list) => seen.long.push(...list.getEntries().map((entry) => entry.duration))).observe({ type: 'longtask' });
    window.addEventListener('message', ({ data }) => {
      const token = data.changes?.find((change) => change.event?.kind === 'token_delta');
      if (!token || seen.first) return;
      seen.first = { server: Date.parse(token.event.time), arrived: Date.now(), shown: null };
      requestAnimationFrame(() => requestAnimationFrame(() => { seen.first.shown = Date.now(); }));
    });
  });
}

/** Stops recording; returns the times between frames in the first and last third of the stream, and the delay of the first token. */
export function framesOf(frame) {
  return frame.evaluate(() => {
    const seen = window.remitSeen;
    seen.stop = true;
    const between = seen.frames.slice(1).map((at, index) => at - seen.frames[index]);
    const third = Math.floor(between.length / 3);
    const summary = (times) => {
      const sorted = [...times].sort((a, b) => a - b);
      const at = (share) => Math.round((sorted[Math.floor(sorted.length * share)] ?? 0) * 10) / 10;
      return { frames: times.length, median_ms: at(0.5), p95_ms: at(0.95), over_50_ms: times.filter((time) => time > 50).length };
    };
    return {
      early: summary(between.slice(0, third)), late: summary(between.slice(-third)), long_tasks: seen.long.length,
      first_token_ms: seen.first && { to_webview: seen.first.arrived - seen.first.server, to_screen: seen.first.shown - seen.first.server },
    };
  });
}
