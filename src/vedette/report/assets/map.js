"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const chart = document.getElementById("chart"), svg = chart.querySelector("svg"), side = document.getElementById("side");
  const tip = document.getElementById("tip"), first = [...side.childNodes];
  const NS = "http://www.w3.org/2000/svg", WIDTH = 1440, HEIGHT = 900;
  const lit = document.createElementNS(NS, "path");
  lit.setAttribute("class", "lit");
  const firstHost = svg.querySelector("circle[data-n]");
  if (firstHost) svg.insertBefore(lit, firstHost.previousElementSibling || firstHost);
  const circles = new Map([...svg.querySelectorAll("circle[data-n]")].map((one) => [Number(one.dataset.n), one]));
  let view = { x: 0, y: 0, width: WIDTH, height: HEIGHT }, chosen = null;

  const show = () => svg.setAttribute("viewBox", `${view.x} ${view.y} ${view.width} ${view.height}`);
  const scale = () => Math.min(svg.clientWidth / view.width, svg.clientHeight / view.height) || 1;
  const point = (event) => {
    const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    return { x: at.x, y: at.y };
  };
  const zoom = (by, at) => {
    const width = Math.min(WIDTH * 1.6, Math.max(120, view.width / by)), ratio = width / view.width;
    const where = at || { x: view.x + view.width / 2, y: view.y + view.height / 2 };
    view = { x: where.x - (where.x - view.x) * ratio, y: where.y - (where.y - view.y) * ratio, width, height: view.height * ratio };
    show();
  };
  const around = (n, pixels) => {
    const [x, y] = data.spots[n], width = svg.clientWidth / pixels, height = svg.clientHeight / pixels;
    view = { x: x - width / 2, y: y - height / 2, width, height };
    show();
  };
  const whole = () => { view = { x: 0, y: 0, width: WIDTH, height: HEIGHT }; show(); };

  const element = (name, words, kind) => {
    const made = document.createElement(name);
    if (words !== undefined) made.textContent = words;
    if (kind) made.className = kind;
    return made;
  };
  const light = (n) => {
    svg.classList.toggle("is-asked", n !== null);
    const ways = n === null ? [] : data.links.filter(([one, other]) => one === n || other === n);
    lit.setAttribute("d", ways.map(([one, other]) => {
      const [x, y] = data.spots[one], [u, v] = data.spots[other];
      return `M${x} ${y}Q${(x + u) / 2 + (v - y) * 0.08} ${(y + v) / 2 - (u - x) * 0.08} ${u} ${v}`;
    }).join(""));
  };
  const card = (one) => {
    const made = element("section", undefined, "card"), head = element("h3");
    head.append(element("span", one.title), element("span", String(Math.round(one.score))));
    const link = element("a", one.url);
    if (/^https?:\/\//.test(one.url)) { link.href = one.url; link.rel = "noopener noreferrer"; link.target = "_blank"; }
    made.append(head, link, element("p", one.summary));
    if (one.danger) made.append(element("p", `Careful: ${one.danger}`, "danger"));
    const list = element("dl");
    for (const [words, quote, points] of one.why) {
      const term = element("dt", words);
      if (points) term.append(element("span", `+${points}`));
      list.append(term, element("dd", `“${quote}”`));
    }
    made.append(list, element("p", one.by === "offline" ? "Offline analyst: no model was asked." : `Said by ${one.by}.`, "dim"));
    return made;
  };
  const choose = (n) => {
    if (chosen !== null) circles.get(chosen)?.classList.remove("chosen");
    chosen = n;
    light(n);
    if (n === null) { side.replaceChildren(...first); return; }
    circles.get(n)?.classList.add("chosen");
    const place = data.places[n], back = element("button", "← All hosts", "back");
    back.addEventListener("click", () => choose(null));
    const parts = [back, element("h2", place.name), element("p", `${place.in} hosts link here, it links to ${place.out}.`, "dim")];
    if (!place.cards) parts.push(element("p", "Nothing odd was found here."));
    for (const one of place.cards || []) parts.push(card(one));
    if (place.more) parts.push(element("p", `and ${place.more} more findings here`, "dim"));
    side.replaceChildren(...parts);
    side.scrollTop = 0;
  };
  const hint = (n, event) => {
    if (n === null) { tip.hidden = true; if (chosen === null) light(null); return; }
    const place = data.places[n], box = chart.getBoundingClientRect();
    tip.textContent = place.score ? `${place.name} · ${place.score}` : place.name;
    tip.hidden = false;
    const left = Math.min(event.clientX - box.left + 14, box.width - tip.offsetWidth - 6);
    tip.style.transform = `translate(${Math.max(4, left)}px, ${event.clientY - box.top + 14}px)`;
    if (chosen === null) light(n);
  };
  const named = (target) => { const found = target.closest?.("[data-n]"); return found ? Number(found.dataset.n) : null; };

  const fingers = new Map();
  let moved = 0, apart = 0;
  svg.addEventListener("pointerdown", (event) => {
    fingers.set(event.pointerId, event); moved = 0; apart = 0;
  });
  svg.addEventListener("pointermove", (event) => {
    const before = fingers.get(event.pointerId);
    if (!before) { hint(event.pointerType === "mouse" ? named(event.target) : null, event); return; }
    fingers.set(event.pointerId, event);
    if (fingers.size === 2) {
      const [one, other] = [...fingers.values()], now = Math.hypot(one.clientX - other.clientX, one.clientY - other.clientY);
      if (apart) zoom(now / apart, point({ clientX: (one.clientX + other.clientX) / 2, clientY: (one.clientY + other.clientY) / 2 }));
      apart = now; moved = 99;
      return;
    }
    const by = scale();
    moved += Math.abs(event.clientX - before.clientX) + Math.abs(event.clientY - before.clientY);
    if (moved > 4) chart.classList.add("is-moving");
    view = { ...view, x: view.x - (event.clientX - before.clientX) / by, y: view.y - (event.clientY - before.clientY) / by };
    show();
  });
  const up = (event) => { fingers.delete(event.pointerId); apart = 0; chart.classList.remove("is-moving"); };
  svg.addEventListener("pointerup", up);
  svg.addEventListener("pointercancel", up);
  svg.addEventListener("pointerleave", (event) => { up(event); hint(null, event); });
  svg.addEventListener("click", (event) => { if (moved <= 6) choose(named(event.target)); });
  svg.addEventListener("wheel", (event) => { event.preventDefault(); zoom(event.deltaY < 0 ? 1.18 : 1 / 1.18, point(event)); }, { passive: false });
  svg.addEventListener("keydown", (event) => {
    const n = named(event.target);
    if (n !== null && (event.key === "Enter" || event.key === " ")) { event.preventDefault(); choose(n); }
    if (event.key === "Escape") choose(null);
  });
  side.addEventListener("click", (event) => {
    const n = named(event.target);
    if (n !== null) { choose(n); around(n, 1.6); }
  });
  document.getElementById("nearer").addEventListener("click", () => zoom(1.4));
  document.getElementById("farther").addEventListener("click", () => zoom(1 / 1.4));
  document.getElementById("whole").addEventListener("click", whole);
  const best = data.places.findIndex((one) => one.score);
  if (svg.clientWidth < 700 && best >= 0) around(best, 1);
})();
