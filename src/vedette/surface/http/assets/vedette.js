/* What a page gains with JavaScript: live news, plots, keys.  Everything can be read and done without it. */
"use strict";
(() => {
  const $$ = (selector, within = document) => [...within.querySelectorAll(selector)];

  // Live: the event stream of the API.  Only a page that is seen holds a connection: a browser has six for one host.
  function follow() {
    const mark = document.querySelector("[data-live]");
    if (!mark || !window.EventSource) return;
    const words = mark.querySelector("[data-live-words]");
    const changed = calmly(() => document.body.dispatchEvent(new CustomEvent("vedette:changed")));
    let stream = null;
    function turn() {
      if (document.hidden) { stream?.close(); stream = null; return; }
      if (stream) return;
      stream = new EventSource("/api/v1/events?types=changed&counted=true");
      stream.onopen = () => { mark.hidden = false; mark.classList.remove("is-lost"); words.textContent = "live"; };
      stream.onerror = () => { mark.classList.add("is-lost"); words.textContent = "not connected"; };
      stream.addEventListener("counted", (event) => { changed(); count(JSON.parse(event.data).changed); });
    }
    document.addEventListener("visibilitychange", () => { turn(); if (!document.hidden) changed(); });
    addEventListener("pagehide", () => stream?.close());
    turn();
  }

  // However much happens, a page asks for its list again a second later, and then every five.
  function calmly(act) {
    let isWaiting = false, isAgain = false, due = 0, last = -Infinity;
    const now = () => performance.now();
    const go = () => { isWaiting = false; last = now(); act(); if (isAgain) { isAgain = false; ask(); } };
    // What is heard less than a second before it asks may be missing in what it is given: then it asks once more.
    const ask = () => {
      if (isWaiting) { isAgain ||= now() + 1000 > due; return; }
      isWaiting = true;
      due = Math.max(now() + 1000, last + 5000);
      setTimeout(go, due - now());
    };
    return ask;
  }

  // A list that somebody reads stays as it is: it says how many changes came since.
  let came = 0;
  function count(more) {
    const news = document.querySelector("[data-news]");
    if (!news) return;
    came += more;
    news.hidden = false;
    news.querySelector("[data-news-words]").textContent = came === 1 ? "1 new change" : came + " new changes";
  }

  // Plots: data in the page, a table beside it for who has no canvas.
  function colour(name) { return getComputedStyle(document.documentElement).getPropertyValue(name).trim(); }
  function draw(figure) {
    const told = JSON.parse(figure.dataset.plot);
    if (!window.uPlot || told.x.length < 2) return;
    const box = document.createElement("div");
    figure.prepend(box);
    const strokes = [colour("--accent"), colour("--warm")];
    const axis = { stroke: colour("--dim"), grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false }, font: "12px system-ui" };
    const shown = (plot, value) => (value == null ? "" : String(value));
    const series = [{ label: "", value: (plot, at) => (at == null ? "" : new Date(at * 1000).toISOString().slice(0, 16).replace("T", " ") + "Z") }, ...told.series.map((one, n) => ({ label: one.label, value: shown, stroke: strokes[n], width: 2, scale: "y" + n, points: { show: told.x.length < 40, size: 5 } }))];
    const days = told.x[told.x.length - 1] - told.x[0] > 3 * 86400;
    const two = (number) => String(number).padStart(2, "0");
    const clock = (at) => { const d = new Date(at * 1000); return days ? two(d.getUTCDate()) + "." + two(d.getUTCMonth() + 1) + "." : two(d.getUTCHours()) + ":" + two(d.getUTCMinutes()); };
    const axes = [{ ...axis, values: (plot, ticks) => ticks.map(clock) }, ...told.series.map((one, n) => ({ ...axis, stroke: told.series.length > 1 ? strokes[n] : axis.stroke, scale: "y" + n, side: n ? 1 : 3, size: 48, grid: { ...axis.grid, show: !n } }))];
    // Counts stand on nought, so that twice as high is twice as many.
    const scales = Object.fromEntries(told.series.map((one, n) => ["y" + n, told.counts ? { range: (plot, least, most) => [0, Math.max(1, most * 1.08)] } : {}]));
    const plot = new uPlot({ width: figure.clientWidth, height: 180, series, axes, scales, cursor: { y: false } }, [told.x, ...told.series.map((one) => one.y)], box);
    addEventListener("resize", () => plot.setSize({ width: figure.clientWidth, height: 180 }));
  }

  // Keys: j and k go through the rows or the changes, / searches.
  function step(by) {
    const rows = $$("[data-row]");
    if (!rows.length) {
      const link = document.querySelector(by > 0 ? "[data-next]" : "[data-previous]");
      if (link) link.click(); else if (by < 0) history.back();
      return;
    }
    const at = rows.indexOf(document.activeElement);
    const next = rows[Math.max(0, Math.min(rows.length - 1, at + by))];
    next.focus();
    next.scrollIntoView({ block: "nearest" });
  }
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea")) return;
    const search = document.querySelector("input[type=search]");
    if (event.key === "j") step(1);
    else if (event.key === "k") step(-1);
    else if (event.key === "/" && search) { event.preventDefault(); search.focus(); }
  });
  // A filter that is not set is not in the address.
  document.addEventListener("htmx:configRequest", (event) => {
    const given = event.detail.parameters;
    for (const name of event.detail.verb === "get" ? Object.keys(given) : []) if (given[name] === "") delete given[name];
  });
  // Sliders say what they stand at; one box chooses all rows.
  document.addEventListener("input", (event) => {
    const shown = event.target.dataset?.shows && document.getElementById(event.target.dataset.shows);
    if (shown) shown.textContent = event.target.value + (event.target.dataset.unit || "");
    if (event.target.matches?.("[data-all]")) for (const box of $$("[data-pick]")) box.checked = event.target.checked;
  });
  document.addEventListener("click", (event) => {
    for (const menu of $$("details.row-menu[open]")) if (!menu.contains(event.target)) menu.open = false;
  });

  // A bookmark for other pages: behind a proxy only the browser knows the address of this one.
  for (const link of $$("[data-bookmarklet]")) {
    link.href = "javascript:void(open('" + location.origin + "/add?url='+encodeURIComponent(location.href)))";
    link.addEventListener("click", (event) => { event.preventDefault(); link.nextElementSibling.hidden = false; });
  }

  // The page that is open stands in the middle of a bar that is longer than the screen.  `scrollIntoView` would make the
  // first Tab begin there instead of at the link to the content.
  const open = document.querySelector(".bar [aria-current]"), bar = open?.closest("nav");
  if (bar) {
    const own = open.getBoundingClientRect(), all = bar.getBoundingClientRect();
    bar.scrollLeft += own.left + own.width / 2 - all.left - all.width / 2;
  }
  follow();
  $$("[data-plot]").forEach(draw);
})();
