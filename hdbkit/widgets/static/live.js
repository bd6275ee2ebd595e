// The live charts of a run: points come one message at a time and are drawn as SVG in the page's own colours.
// A view that opens later asks for all points; more than MAX_POINTS are thinned to every second one.
const MAX_POINTS = 600;
const MIN_SPAN_S = 20;
const HEIGHT = 150;
const SPACE = { left: 46, right: 16, top: 8, bottom: 20 };
const SVG = "http://www.w3.org/2000/svg";
const QUANTILES = ["p50", "p95", "p99"];

const number = (value) => {
  if (value === null || value === undefined) return "–";
  if (Math.abs(value) < 100) return `${+value.toPrecision(3)}`;
  return Math.round(value).toLocaleString("en");
};

function node(name, attributes = {}, parent = null, text = "") {
  const made = name in { svg: 1, g: 1, path: 1, line: 1, rect: 1, text: 1 }
    ? document.createElementNS(SVG, name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text) made.textContent = text;
  parent?.append(made);
  return made;
}

// Round steps between two bounds: 1, 2 or 5 times a power of ten; on a logarithmic axis the powers and their thirds.
function ticks(low, high, log) {
  const found = [];
  if (log) {
    for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++)
      for (const mantissa of high / low > 500 ? [1] : [1, 2, 5]) found.push(mantissa * 10 ** power);
    return found.filter((tick) => tick >= low && tick <= high);
  }
  const rough = (high - low) / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((mantissa) => mantissa * power).find((one) => one >= rough);
  for (let tick = Math.ceil(low / step) * step; tick <= high * 1.0001; tick += step) found.push(tick);
  return found;
}

// One chart: a title, the newest values as its legend, and lines over the seconds since the run's start.
class Chart {
  constructor(parent, title, unit, lines, log = false) {
    Object.assign(this, { title, unit, lines, log, at: null, points: [], about: {} });
    this.el = node("figure", { class: "hdbkit-live-chart" }, parent);
    this.head = node("figcaption", {}, this.el);
    node("span", { class: "hdbkit-live-title" }, this.head, `${title} (${unit})`);
    this.legend = node("span", { class: "hdbkit-live-legend" }, this.head);
    this.values = lines.map(({ name }, index) => {
      const entry = node("span", { class: "hdbkit-live-entry" }, this.legend);
      if (lines.length > 1) {
        const sign = node("svg", { width: 20, height: 8, "aria-hidden": "true" }, entry);
        node("line", { x1: 0, x2: 20, y1: 4, y2: 4, class: `hdbkit-live-line hdbkit-live-line-${index + 1}` }, sign);
        entry.append(` ${name} `);
      }
      return node("b", {}, entry);
    });
    this.svg = node("svg", { role: "img", height: HEIGHT }, this.el);
    this.svg.addEventListener("pointermove", (event) => this.point(event.offsetX));
    this.svg.addEventListener("pointerleave", () => this.point(null));
  }

  point(x) {
    this.at = x;
    this.draw(this.points, this.about);
  }

  draw(points, about) {
    Object.assign(this, { points, about });
    const width = this.svg.clientWidth;
    if (!width) return;
    this.svg.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
    this.svg.replaceChildren();
    const series = this.lines.map(({ value }) => points.map((point) => [point.t, value(point)]));
    const known = series.flat().filter(([, y]) => y !== null && (!this.log || y > 0)).map(([, y]) => y);
    const first = points.length ? points[0].t : 0;
    const last = Math.max(first + MIN_SPAN_S, points.length ? points.at(-1).t : 0);
    const [low, high] = this.bounds(known);
    const right = width - SPACE.right, bottom = HEIGHT - SPACE.bottom;
    const x = (t) => SPACE.left + ((t - first) / (last - first)) * (right - SPACE.left);
    const scale = this.log ? Math.log10 : (value) => value;
    const y = (value) =>
      bottom - ((scale(value) - scale(low)) / (scale(high) - scale(low))) * (bottom - SPACE.top);
    this.ground(x, y, first, last, ticks(low, high, this.log), right, bottom);
    series.forEach((line, index) => {
      const path = this.path(line, x, y);
      node("path", { d: path, class: `hdbkit-live-line hdbkit-live-line-${index + 1}` }, this.svg);
    });
    this.describe(x, bottom, known);
  }

  bounds(known) {
    if (!this.log) return [0, (Math.max(0, ...known) || 1) * 1.2];
    const low = known.length ? Math.min(...known) : 1, high = known.length ? Math.max(...known) : 10;
    return [low / 1.3, Math.max(high * 1.8, low * 3)];
  }

  ground(x, y, first, last, steps, right, bottom) {
    const { rampup_s = 0 } = this.about;
    if (rampup_s > first) {
      const end = Math.min(rampup_s, last);
      const box = { x: x(first), y: SPACE.top, width: x(end) - x(first), height: bottom - SPACE.top };
      node("rect", { ...box, class: "hdbkit-live-shade" }, this.svg);
      if (box.width > 60) node("text", { x: box.x + 5, y: SPACE.top + 12 }, this.svg, "ramp-up");
    }
    for (const step of steps) {
      node("line", { x1: SPACE.left, x2: right, y1: y(step), y2: y(step), class: "hdbkit-live-grid" }, this.svg);
      const label = step >= 1e4 ? `${number(step / 1000)}k` : `${+step.toPrecision(3)}`;
      node("text", { x: SPACE.left - 6, y: y(step) + 4, "text-anchor": "end" }, this.svg, label);
    }
    for (const step of ticks(first, last, false))
      node("text", { x: x(step), y: HEIGHT - 5, "text-anchor": "middle" }, this.svg, `${+step.toPrecision(6)} s`);
  }

  path(line, x, y) {
    let pen = "M", made = "";
    for (const [t, value] of line) {
      if (value === null || (this.log && value <= 0)) { pen = "M"; continue; }
      made += `${pen}${x(t).toFixed(1)} ${y(value).toFixed(1)}`;
      pen = "L";
    }
    return made;
  }

  describe(x, bottom, known) {
    if (!this.points.length) {
      this.values.forEach((one) => (one.textContent = ""));
      this.svg.setAttribute("aria-label", `${this.title}: no point yet`);
      return;
    }
    let shown = this.points.at(-1);
    if (this.at !== null) {
      const away = (point) => Math.abs(x(point.t) - this.at);
      shown = this.points.reduce((best, point) => (away(point) < away(best) ? point : best));
      const edge = { x1: x(shown.t), x2: x(shown.t), y1: SPACE.top, y2: bottom };
      node("line", { ...edge, class: "hdbkit-live-cursor" }, this.svg);
    }
    this.lines.forEach(({ value }, index) => (this.values[index].textContent = number(value(shown))));
    const words = this.lines.map(({ name, value }) => `${name} ${number(value(this.points.at(-1)))}`).join(", ");
    const range = known.length ? `; between ${number(Math.min(...known))} and ${number(Math.max(...known))} so far` : "";
    this.svg.setAttribute("aria-label", `${this.title} (${this.unit}): now ${words}${range}`);
  }
}

// The newest quantiles of every operation: the numbers behind the latency chart.
function table(parent, operations, noun, time) {
  const caption = `current ${time} time (ms)`;
  const frame = node("div", { class: "hdbkit-live-frame", tabindex: 0, role: "region", "aria-label": caption }, parent);
  const made = node("table", { class: "hdbkit-live-table" }, frame);
  node("caption", {}, made, caption);
  const head = node("tr", {}, node("thead", {}, made));
  for (const name of [noun, ...QUANTILES]) node("th", { scope: "col" }, head, name);
  const body = node("tbody", {}, made);
  return operations.map((name) => {
    const row = node("tr", {}, body);
    node("th", { scope: "row" }, row, name.replaceAll("_", " "));
    return QUANTILES.map(() => node("td", {}, row));
  });
}

// What is known of the load's schedule: a chart for each name in `known`.
function ofSchedule(grid, known, nouns) {
  const of = (name) => (point) => point.schedule?.[name] ?? null;
  const late = (index) => (point) => point.schedule?.late[index] ?? null;
  const made = {
    rates: () => new Chart(grid, "Offered and achieved", `${nouns} per second`, [
      { name: "offered", value: of("offered") }, { name: "achieved", value: of("achieved") },
    ]),
    late: () => new Chart(grid, "Lateness", "ms, log scale",
      ["p50", "p99", "max"].map((name, index) => ({ name, value: late(index) })), true),
    backlog: () => new Chart(grid, "Backlog", `${nouns} that wait`, [{ name: "backlog", value: of("backlog") }]),
    busy: () => new Chart(grid, "Busy sessions", "number", [{ name: "busy", value: of("busy") }]),
  };
  return known.map((name) => made[name]());
}

// What sessions of the load do in the server; the rare waits together.
function ofWaits(grid) {
  const of = (...names) => (point) => (Object.keys(point.waits ?? {}).length ? names.reduce((sum, name) => sum + (point.waits[name] ?? 0), 0) : null);
  return new Chart(grid, "Sessions in the server", "mean number", [
    { name: "running", value: of("running") }, { name: "lock", value: of("lock") }, { name: "log", value: of("log") },
    { name: "disk", value: of("disk") }, { name: "other waits", value: of("latch", "client", "other") },
  ]);
}

// Of users that execute lists: the newest time of every operation, and which are running.
function times(parent, operations, noun) {
  node("div", { class: "hdbkit-live-heading" }, parent, `newest time of each ${noun} (s); ▸ running`);
  const list = node("div", { class: "hdbkit-live-times", role: "list" }, parent);
  return operations.map((name) => {
    const entry = node("div", { role: "listitem" }, list);
    node("span", {}, entry, name.replaceAll("_", " "));
    return node("b", {}, entry);
  });
}

function render({ model, el }) {
  let points = [], about = {}, charts = [], cells = [], chosen = 0;
  el.classList.add("hdbkit-live");

  function build() {
    el.replaceChildren();
    const { operations = [], headline, noun, nouns, metric, lists, time, schedule } = about;
    el.dataset.points = points.length;
    if (!operations.length) return;
    const title = `${time[0].toUpperCase()}${time.slice(1)} time`;
    chosen = Math.max(0, operations.indexOf(headline));
    const grid = node("div", { class: "hdbkit-live-grid-of-charts" }, el);
    const of = (index) => (point) => point.latency[chosen]?.[index] ?? null;
    const progress = lists
      ? [new Chart(grid, "Finished", "number of executions", [{ name: noun, value: (point) => point.finished }])]
      : [
        new Chart(grid, "Throughput", metric.title, [{ name: metric.name, value: (point) => point.rate }]),
        new Chart(grid, title, "ms, log scale", QUANTILES.map((name, index) => ({ name, value: of(index) })), true),
      ];
    charts = [
      ...progress,
      ...(about.waits ? [ofWaits(grid)] : []),
      ...ofSchedule(grid, schedule, nouns),
      new Chart(grid, "Errors", "per second", [
        { name: "failed", value: (point) => point.failed }, { name: "retries", value: (point) => point.retries },
      ]),
      new Chart(grid, "CPU", "busy cores", [
        { name: "clients", value: (point) => point.client_cpu }, { name: "server", value: (point) => point.server_cpu },
      ]),
    ];
    if (lists) {
      cells = times(el, operations, noun);
      return;
    }
    const choice = node("select", { "aria-label": `${noun} whose ${time} time is drawn` });
    operations.forEach((name, index) => node("option", { value: index }, choice, name.replaceAll("_", " ")));
    choice.value = chosen;
    choice.addEventListener("change", () => { chosen = Number(choice.value); draw(); });
    charts[1].head.firstChild.after(choice);
    cells = table(el, operations, noun, time);
  }

  function draw() {
    el.dataset.points = points.length;
    for (const chart of charts) chart.draw(points, about);
    if (about.lists) {
      const { newest_s = [], running = [] } = points.at(-1) ?? {};
      cells.forEach((cell, index) => {
        cell.textContent = `${running[index] ? "▸ " : ""}${number(newest_s[index])}`;
      });
      return;
    }
    const latency = points.at(-1)?.latency ?? [];
    cells.forEach((row, index) => row.forEach((cell, which) => (cell.textContent = number(latency[index]?.[which]))));
  }

  function heard(message) {
    if (message.kind === "all") {
      ({ points, about } = message);
      build();
    } else if (!charts.length) {
      return model.send({ kind: "hello" });  // the first was sent before the kernel could receive it
    } else {
      points.push(message.point);
      if (points.length > MAX_POINTS) points = points.filter((_, index) => index % 2 === points.length % 2 || index === points.length - 1);
    }
    draw();
  }

  model.on("msg:custom", heard);
  const sized = new ResizeObserver(() => draw());
  sized.observe(el);
  model.send({ kind: "hello" });
  return () => {
    model.off("msg:custom", heard);
    sized.disconnect();
  };
}

export default { render };
