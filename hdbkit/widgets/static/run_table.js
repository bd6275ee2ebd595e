// The experiment table: its first two columns, the run and its result, stay in sight; sorts, groups and filters all rows in the browser, and builds only the rows in sight.
const ROW_PX = 27, SPARE = 15;
const UNKNOWN = "–";
const AGAINST = "change";
const FIXED = ["name", "metric_value"];
const WIDTHS = { name: 32, metric_value: 15, course: 15, change: 11, p95_ms: 11, checks: 11, started: 13 };  // in characters
const COLOURS = 5, ASK_MS = 120, AGE_MS = 30000;
const STEPS = [[60, "s"], [60, "min"], [24, "h"], [Infinity, "days"]];
// Two-sided 95 % quantiles of Student's t for 1 to 30 degrees of freedom; beyond, the normal one is within 2 %.
const T = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
  2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042];
const FILTER = /^\s*(\w+)\s*(!=|<=|>=|=|<|>|~)\s*(.*?)\s*$/;

function make(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) if (value !== null) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function text(value) {
  if (value === null || value === undefined || value === "") return UNKNOWN;
  if (typeof value !== "number") return String(value);
  const digits = Number.isInteger(value) || Math.abs(value) >= 1000 ? { maximumFractionDigits: 0 } : { maximumSignificantDigits: 4 };
  return value.toLocaleString("en-US", digits);
}

// How long ago a moment was: 5 min ago.
function age(value) {
  let left = Math.max(0, (Date.now() - Date.parse(value)) / 1000);
  for (const [size, unit] of STEPS) {
    if (left < size) return `${Math.round(left)} ${Math.round(left) === 1 && unit === "days" ? "day" : unit} ago`;
    left /= size;
  }
  return UNKNOWN;
}

// The course of a window as a line from zero to its highest point.
function line(points) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg"), top = Math.max(...points);
  const drawn = document.createElementNS("http://www.w3.org/2000/svg", "polyline");
  for (const [key, value] of Object.entries({ width: 96, height: 18, viewBox: "0 0 96 18", "aria-hidden": "true" })) svg.setAttribute(key, value);
  drawn.setAttribute("points", points.map((one, i) => `${(96 * i / (points.length - 1)).toFixed(1)},${(17 - 16 * one / top).toFixed(1)}`).join(" "));
  svg.append(drawn);
  return svg;
}

// The value of a row: its place among the distinct ones; without places there is one for all rows, or one for each.
function reader({ distinct, places }) {
  if (places) return (row) => distinct[places[row]];
  return distinct.length === 1 ? () => distinct[0] : (row) => distinct[row];
}

// Whether a value fits a filter: numbers are compared as numbers, "~" looks for a part of the text.
function fits(value, sign, wanted) {
  const shown = String(value ?? "").toLowerCase(), word = wanted.toLowerCase();
  if (sign === "~") return shown.includes(word);
  const number = typeof value === "number" && wanted !== "" && !Number.isNaN(Number(wanted));
  const [a, b] = number ? [value, Number(wanted)] : [shown, word];
  if (value === null && sign !== "=" && sign !== "!=") return false;
  return { "=": a === b, "!=": a !== b, "<": a < b, ">": a > b, "<=": a <= b, ">=": a >= b }[sign];
}

// The geometric mean of a group and its 95 % interval, on the log scale; null where the values cannot be averaged.
function summary(values) {
  const logs = values.filter((one) => one > 0).map(Math.log), n = logs.length;
  if (!n) return null;
  const mean = logs.reduce((a, b) => a + b, 0) / n;
  if (n === 1) return { mean: Math.exp(mean) };
  const sd = Math.sqrt(logs.reduce((a, b) => a + (b - mean) ** 2, 0) / (n - 1));
  const half = (T[n - 2] ?? 1.96) * sd / Math.sqrt(n);
  return { mean: Math.exp(mean), low: Math.exp(mean - half), high: Math.exp(mean + half) };
}

function render({ model, el }) {
  let columns = new Map(), keys = [], automatic = [], groupings = [], place = new Map();
  let lines = [], active = 0, anchor = null, drawn = "";
  const closed = new Set(), outlines = new Map(), asked = new Set();
  let asking = 0, metrics = 0;
  const body = make("tbody"), head = make("tr", { "aria-rowindex": 1 }), pinned = make("tbody", { class: "hdbkit-pinned" });
  const widths = make("colgroup");
  const table = make("table", { role: "grid", "aria-multiselectable": "true", "aria-label": "runs", class: "hdbkit-runs" },
    widths, make("thead", {}, head), pinned, body);
  const box = make("div", { class: "hdbkit-runs-box" }, table);
  const chips = make("span", { class: "hdbkit-chips" }), count = make("span", { class: "hdbkit-count", role: "status" });
  const by = make("select", { "aria-label": "group by" });
  const filter = make("input", { type: "search", "aria-label": "Search", placeholder: "Search: a word, or virtual_users = 8 and label ~ night" });
  const chooser = make("div", { class: "hdbkit-chooser" });
  const choose = make("details", {}, make("summary", {}, "Columns"), chooser);
  el.replaceChildren(make("div", { class: "hdbkit-runs-tools" },
    filter, chips, make("label", {}, "Group by ", by), choose, count), box);

  const view = () => model.get("view");
  const value = (row, column) => columns.get(column)?.at(row) ?? null;
  const shownColumns = () => (view().columns ?? automatic).filter((one) => columns.has(one));
  // The columns in their places: run and result are first, the change against a pinned baseline is beside them.
  function placed() {
    const shown = shownColumns(), first = FIXED.filter((one) => shown.includes(one));
    const change = place.has(model.get("baseline")) ? [AGAINST] : [];
    return [...first, ...change, ...shown.filter((one) => !FIXED.includes(one))];
  }
  const headWord = (column) => (column === "metric_value" && metrics === 1 ? value(0, "metric") : titled(column));
  const titled = (column) => columns.get(column)?.title || column;
  const picked = () => new Set(model.get("picked"));

  function change(changes) {
    model.set("view", { ...view(), ...changes });
    model.save_changes();
  }

  function pick(chosen) {
    model.set("picked", [...chosen]);
    model.save_changes();
  }

  // -- which rows, in which order ------------------------------------------------------------------------

  // What is searched for: a word in any column, or a comparison; several are joined by "and".
  const wanted = () => filter.value.split(/\s+and\s+/i).map((one) => one.trim()).filter((one) => one && !/^\w+\s*(!=|<=|>=|[=<>~])$/.test(one));

  function passes(row, filters) {
    return filters.every((one) => {
      const found = FILTER.exec(one);
      if (found && columns.has(found[1])) return fits(value(row, found[1]), found[2], found[3].replace(/^(['"])(.*)\1$/, "$2"));
      return [...columns.keys()].some((column) => fits(value(row, column), "~", one));
    });
  }

  function ordered(rows) {
    const { sorted_by: column, descending } = view();
    if (!columns.has(column)) return rows;
    const way = descending ? -1 : 1;
    return rows.sort((one, other) => {
      const a = value(one, column), b = value(other, column);
      if (a === null || b === null) return (a === null) - (b === null) || one - other;
      return (a < b ? -way : a > b ? way : 0) || one - other;
    });
  }

  function arrange() {
    const filters = [...(view().filters ?? []), ...wanted()];
    const rows = ordered([...keys.keys()].filter((row) => passes(row, filters)));
    const group = columns.has(view().group_by) ? view().group_by : "";
    if (!group) {
      lines = rows.map((row) => ({ row }));
    } else {
      const groups = new Map();
      for (const row of rows) {
        const word = value(row, group) === null ? "" : String(value(row, group));
        if (!groups.has(word)) groups.set(word, []);
        groups.get(word).push(row);
      }
      lines = [...groups].flatMap(([word, members]) => [
        { group: word, members }, ...(closed.has(word) ? [] : members.map((row) => ({ row }))),
      ]);
    }
    active = Math.max(0, Math.min(active, lines.length - 1));
    count.textContent = rows.length === keys.length ? `${text(keys.length)} runs` : `${text(rows.length)} of ${text(keys.length)} runs`;
    for (const column of columns.values()) if (column.bar) column.most = most(rows, column);
  }

  // The largest value of each metric: bars of different metrics have scales of their own.
  function most(rows, column) {
    const found = {};
    for (const row of rows) {
      const metric = value(row, "metric");
      found[metric] = Math.max(found[metric] ?? 0, column.at(row) ?? 0);
    }
    return found;
  }

  // -- what is drawn -------------------------------------------------------------------------------------

  // The first cell of a run: the mark of its place among the selected ones, in whose colour charts draw it, and its name.
  function nameCell(row, chosen) {
    const at = [...chosen].indexOf(keys[row]), name = text(value(row, "name"));
    const tick = make("input", { type: "checkbox", tabindex: -1, "aria-label": `select ${name}` });
    tick.checked = at >= 0;
    const dot = make("i", { class: "hdbkit-dot", style: at >= 0 ? `background: var(--hdbkit-series-${at % COLOURS + 1})` : null });
    return make("td", { role: "gridcell", class: "hdbkit-name", title: `${name}\n${keys[row]}` }, tick, dot, name);
  }

  function outlineCell(row) {
    const points = outlines.get(keys[row]);
    if (points === undefined) ask(keys[row]);
    return make("td", { role: "gridcell" }, points?.length > 1 && Math.max(...points) > 0 ? line(points) : "");
  }

  // The courses of the rows in sight are asked for together, once.
  function ask(key) {
    asked.add(key);
    clearTimeout(asking);
    asking = setTimeout(() => {
      model.send({ kind: "outlines", keys: [...asked].slice(-100) });
      asked.clear();
    }, ASK_MS);
  }

  function cell(row, column, chosen) {
    if (column === "name") return nameCell(row, chosen);
    if (column === "course") return outlineCell(row);
    const { numeric, bar, most: largest } = columns.get(column), found = value(row, column);
    if (column === "started" && found) return make("td", { role: "gridcell", title: found }, age(found));
    const made = make("td", { role: "gridcell", class: numeric ? "n" : null }, text(found));
    if (column === "metric_value" && found !== null && metrics > 1) made.append(make("small", {}, ` ${value(row, "metric")}`));
    if (column === "checks" && /failed/.test(found)) made.classList.add("hdbkit-failed");
    if (bar && found > 0 && largest) {
      const share = 100 * found / largest[value(row, "metric")];
      made.classList.add("hdbkit-bar");
      made.style.setProperty("--share", `${Math.min(100, share).toFixed(1)}%`);
    }
    if (typeof found === "string") made.title = found;
    return made;
  }

  function against(row) {
    const base = place.get(model.get("baseline"));
    const [a, b] = [base, row].map((one) => value(one, "metric_value"));
    const same = a > 0 && b !== null && value(base, "metric") === value(row, "metric");
    const change = same ? `${b >= a ? "+" : "−"}${Math.abs(100 * (b / a - 1)).toFixed(1)} %` : UNKNOWN;
    return make("td", { role: "gridcell", class: "n" }, row === base ? "baseline" : change);
  }

  function cells(row, chosen) {
    return placed().map((column) => {
      const made = column === AGAINST ? against(row) : cell(row, column, chosen);
      if (FIXED.includes(column)) made.classList.add("hdbkit-fixed");
      return made;
    });
  }

  function runLine(line, index, chosen) {
    const key = keys[line.row];
    return make("tr", { "aria-rowindex": index + 2, "aria-selected": chosen.has(key), "data-key": key, tabindex: index === active ? 0 : -1 },
      ...cells(line.row, chosen));
  }

  function groupLine(line, index) {
    const found = { users: new Set(), metrics: new Set() };
    for (const row of line.members) {
      found.users.add(value(row, "virtual_users"));
      found.metrics.add(value(row, "metric"));
    }
    const alike = found.users.size === 1 && found.metrics.size === 1;
    const about = alike ? summary(line.members.map((row) => value(row, "metric_value"))) : null;
    const open = !closed.has(line.group);
    const runs = `${text(line.members.length)} ${line.members.length === 1 ? "run" : "runs"}`;
    const range = about?.low ? ` (95 % interval ${text(about.low)} to ${text(about.high)})` : "";
    const words = about ? `${runs}, geometric mean ${text(about.mean)} ${[...found.metrics][0]}${range}` : runs;
    return make("tr", { class: "hdbkit-group", "aria-rowindex": index + 2, "aria-expanded": open, tabindex: index === active ? 0 : -1 },
      make("td", { role: "gridcell", colspan: placed().length }, make("span", {}, open ? "▾ " : "▸ "),
        make("b", {}, line.group || `no ${view().group_by}`), `  ${words}`));
  }

  function spacer(rows) {
    const made = make("tr", { "aria-hidden": "true", class: "hdbkit-spacer" });
    made.style.height = `${rows * ROW_PX}px`;
    return made;
  }

  function drawRows(force = false) {
    const first = Math.max(0, Math.floor(box.scrollTop / ROW_PX) - SPARE);
    const last = Math.min(lines.length, Math.ceil((box.scrollTop + (box.clientHeight || 340)) / ROW_PX) + SPARE);
    if (!force && drawn === `${first} ${last}`) return;
    drawn = `${first} ${last}`;
    const focused = body.contains(document.activeElement), chosen = picked();
    const rows = lines.slice(first, last).map((line, i) =>
      line.members ? groupLine(line, first + i) : runLine(line, first + i, chosen));
    body.replaceChildren(spacer(first), ...rows, spacer(lines.length - last));
    if (focused) body.querySelector("tr[tabindex='0']")?.focus({ preventScroll: true });
  }

  function drawHead() {
    const { sorted_by: sorted, descending } = view();
    const shown = placed(), base = place.get(model.get("baseline"));
    const fixed = (made, column) => {
      if (FIXED.includes(column)) made.classList.add("hdbkit-fixed");
      return made;
    };
    head.replaceChildren(...shown.map((column) => {
      if (column === "course") return make("th", { scope: "col" }, titled(column));
      if (column === AGAINST) return make("th", { scope: "col", class: "n" }, AGAINST);
      const { numeric } = columns.get(column), is = column === sorted;
      const button = make("button", { type: "button" }, headWord(column) + (is ? (descending ? " ▾" : " ▴") : ""));
      button.addEventListener("click", () => change({ sorted_by: column, descending: is ? !descending : numeric }));
      const order = is ? (descending ? "descending" : "ascending") : "none";
      return fixed(make("th", { scope: "col", "aria-sort": order, class: numeric ? "n" : null }, button), column);
    }));
    const ch = shown.map((column) => WIDTHS[column] ?? (columns.get(column)?.width ?? AGAINST.length) + 3);
    table.style.setProperty("--first", shown[0] === "name" ? `${WIDTHS.name}ch` : "0px");
    widths.replaceChildren(...ch.map((one) => make("col", { style: `width: ${one}ch` })));
    table.style.minWidth = `${ch.reduce((a, b) => a + b, 0)}ch`;
    table.setAttribute("aria-rowcount", lines.length + 1);
    pinned.replaceChildren(...(base === undefined ? [] : [make("tr", {}, ...cells(base, picked()))]));
  }

  function drawTools() {
    const { filters = [], group_by: group = "" } = view(), shown = new Set(shownColumns());
    by.replaceChildren(...["", ...groupings].map((one) => make("option", { value: one }, one ? titled(one) : "nothing")));
    by.value = group;
    chips.replaceChildren(...filters.map((one) => {
      const chip = make("button", { type: "button", class: "hdbkit-chip", title: "remove this filter" }, `${one} ✕`);
      chip.addEventListener("click", () => change({ filters: filters.filter((other) => other !== one) }));
      return chip;
    }));
    chooser.replaceChildren(...[...columns.keys()].map((column) => {
      const tick = make("input", { type: "checkbox" });
      tick.checked = shown.has(column);
      tick.addEventListener("change", () => change({
        columns: [...columns.keys()].filter((one) => (one === column ? tick.checked : shown.has(one))),
      }));
      return make("label", {}, tick, ` ${titled(column)}`);
    }));
  }

  function draw() {
    arrange();
    drawHead();
    drawTools();
    drawRows(true);
  }

  // -- what the user does --------------------------------------------------------------------------------

  function choosing(index, event) {
    const line = lines[index];
    if (!line) return;
    if (line.members) {
      closed.has(line.group) ? closed.delete(line.group) : closed.add(line.group);
      draw();
      return;
    }
    const key = keys[line.row], chosen = picked();
    if (event.shiftKey && anchor !== null) {
      const [from, to] = [Math.min(anchor, index), Math.max(anchor, index)];
      for (const one of lines.slice(from, to + 1)) if (!one.members) chosen.add(keys[one.row]);
      pick(chosen);
    } else if (event.ctrlKey || event.metaKey || event.key === " " || event.target.matches?.("input, .hdbkit-dot")) {
      chosen.has(key) ? chosen.delete(key) : chosen.add(key);
      pick(chosen);
    } else {
      pick(chosen.has(key) && chosen.size === 1 ? [] : [key]);
    }
    if (!event.shiftKey) anchor = index;
  }

  function goTo(index) {
    active = Math.max(0, Math.min(index, lines.length - 1));
    const top = active * ROW_PX, above = head.offsetHeight + pinned.offsetHeight;
    if (top < box.scrollTop) box.scrollTop = top;
    if (top + ROW_PX + above > box.scrollTop + box.clientHeight) box.scrollTop = top + ROW_PX + above - box.clientHeight;
    drawRows(true);
    body.querySelector("tr[tabindex='0']")?.focus({ preventScroll: true });
  }

  const indexOf = (event) => Number(event.target.closest("tbody tr[aria-rowindex]")?.getAttribute("aria-rowindex") ?? 0) - 2;

  body.addEventListener("click", (event) => {
    const index = indexOf(event);
    if (index < 0) return;
    active = index;
    choosing(index, event);
    drawRows(true);
    body.querySelector("tr[tabindex='0']")?.focus({ preventScroll: true });
  });
  body.addEventListener("keydown", (event) => {
    const page = Math.max(1, Math.floor(box.clientHeight / ROW_PX) - 2);
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -lines.length, End: lines.length }[event.key];
    if (step !== undefined) goTo(active + step);
    else if (event.key === " " || event.key === "Enter") choosing(active, event);
    else if (event.key === "a" && (event.ctrlKey || event.metaKey)) pick(lines.flatMap((line) => (line.members ? [] : [keys[line.row]])));
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  box.addEventListener("scroll", () => requestAnimationFrame(() => drawRows()));
  by.addEventListener("change", () => { closed.clear(); change({ group_by: by.value }); });
  filter.addEventListener("keydown", (event) => event.stopPropagation());
  filter.addEventListener("input", draw);
  filter.addEventListener("change", () => {
    const filters = view().filters ?? [], words = wanted().filter((one) => !filters.includes(one));
    filter.value = "";
    words.length ? change({ filters: [...filters, ...words] }) : draw();
  });
  function heard(message, buffers) {
    const read = JSON.parse(new TextDecoder().decode(buffers[0]));
    if (message.kind === "outlines") {
      for (const [key, points] of Object.entries(read)) outlines.set(key, points);
      drawRows(true);
      return;
    }
    if (message.kind !== "runs") return;
    ({ keys, automatic, groupings } = read);
    columns = new Map(read.columns.map((one) => [one.name, { ...one, at: reader(one) }]));
    place = new Map(keys.map((key, index) => [key, index]));
    for (const [key, points] of outlines) if (!points.length) outlines.delete(key);  // of a run that went on
    metrics = (columns.get("metric")?.distinct ?? []).filter((one) => one !== null).length;
    draw();
  }

  const redraw = () => drawRows(true);
  const sized = new ResizeObserver(() => drawRows());
  sized.observe(box);
  const aged = setInterval(() => { if (el.isConnected) redraw(); }, AGE_MS);
  model.on("msg:custom", heard);
  model.on("change:view", draw);
  model.on("change:baseline", draw);
  model.on("change:picked", redraw);
  draw();
  model.send({ kind: "hello" });
  return () => {
    sized.disconnect();
    clearInterval(aged);
    clearTimeout(asking);
    model.off("msg:custom", heard);
    model.off("change:view", draw);
    model.off("change:baseline", draw);
    model.off("change:picked", redraw);
  };
}

export default { render };
