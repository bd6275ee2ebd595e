(() => {
  "use strict";
  const { names, charts, config, reports, site } = JSON.parse(document.getElementById("specs").textContent);

  const style = getComputedStyle(document.documentElement);
  // A click on the dot of a run opens its report; where that is not written yet, the command is shown that writes it.
  // Without `reports` the page is shown elsewhere, and nothing is opened.
  const opened = (run, place) => {
    if (reports[run]) return location.assign(reports[run]);
    place.parentNode.querySelector(".opened")?.remove();
    const words = document.createElement("p"), code = document.createElement("code");
    const where = site ? "The report of this run is not among these pages: " : "The report of this run is not written yet: ";
    Object.assign(words, { className: "opened", textContent: where });
    words.setAttribute("role", "status");
    code.textContent = site ? run : `hdbkit report ${run}`;
    words.append(code);
    place.after(words);
  };
  // A range of time that is chosen in a chart: tables with a course show it, and rows of other times are hidden.
  const number = (value) => value.toLocaleString("en-US", Math.abs(value) >= 1000 ? { maximumFractionDigits: 0 } : { maximumSignificantDigits: 4 });
  const sum = (values, from, to) => values.slice(from, to).reduce((total, one) => total + one, 0);
  const whole = new Map();  // row -> its cells as they are without a range
  function ranged(range) {
    for (const place of document.querySelectorAll("[data-during]")) {
      const [from, until] = place.dataset.during.split(" ");
      place.hidden = range !== null && (Number(from) > range[1] || Number(until) < range[0]);  // until "inf": never less
    }
    let role = "status";  // of the first note alone
    for (const place of document.querySelectorAll("[data-course]")) {
      const course = place.dataset.course && JSON.parse(place.dataset.course);
      const step = course?.step ?? 1, from = range && Math.max(0, Math.floor(range[0] / step)), to = range && Math.ceil(range[1] / step);
      [...place.querySelectorAll("tbody tr")].forEach((row, at) => {
        if (!whole.has(row)) whole.set(row, [...row.cells].map((cell) => cell.textContent));
        const cells = whole.get(row);
        if (!course) {
          const second = Number(cells[0].replaceAll(",", ""));
          row.hidden = range !== null && (second < from || second > to);
          return;
        }
        cells.forEach((text, column) => { row.cells[column].textContent = range && row.cells[column].matches(".n") ? "\u2013" : text; });
        if (!range) return;
        for (const [column, above, below, factor] of course.columns) {
          const length = (Math.min(to, course.rows[at][above].length) - from) * step;
          const over = below === null ? 1 : below < 0 ? length : sum(course.rows[at][below], from, to);
          if (over > 0) row.cells[column].textContent = number(factor * sum(course.rows[at][above], from, to) / over);
        }
      });
      if (place.nextElementSibling?.matches(".range")) place.nextElementSibling.remove();
      if (!range) continue;
      const words = Object.assign(document.createElement("p"), { className: "note range" });
      words.textContent = `From ${number(from * step)} to ${number(to * step)} s of the run, as chosen in the charts.`;
      if (role) words.setAttribute("role", role);
      role = null;
      place.after(words);
    }
  }
  const layer = chartLayer({
    names, config, plotly: unpackedPlotly, opened: reports && opened, ranged,
    colour: (name) => style.getPropertyValue("--" + name).trim(),
  });
  const drawn = new Set();
  const draw = (key, light = false) => {
    drawn.add(key);
    layer.draw(document.getElementById("chart-" + key), charts[key], light);
  };

  // A chart is drawn when it comes within a screen of what is seen, one a turn; the first one in any case. The others
  // follow while the browser is idle, so that a picture of the whole page has them all.
  const waiting = new Set();
  const drawNext = () => {
    const [key] = waiting;
    waiting.delete(key);
    if (key !== undefined && !drawn.has(key)) draw(key);
    if (waiting.size) setTimeout(drawNext);
  };
  const want = (key) => {
    if (!waiting.size) setTimeout(drawNext);
    waiting.add(key);
  };
  const near = new IntersectionObserver(
    (seen) => seen.filter((one) => one.isIntersecting).forEach(({ target }) => {
      near.unobserve(target);
      want(target.id.slice("chart-".length));
    }),
    { rootMargin: "100% 0px" },
  );
  const idle = window.requestIdleCallback || ((callback) => setTimeout(callback, 200));
  const drawRest = () => {
    const key = Object.keys(charts).find((one) => !drawn.has(one));
    if (key === undefined) return;
    if (drawn.size) draw(key);
    idle(drawRest);
  };
  requestAnimationFrame(() => {
    want(Object.keys(charts)[0]);
    for (const plot of document.querySelectorAll(".plot")) near.observe(plot);
    idle(drawRest);
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawn.forEach((key) => draw(key)));
  addEventListener("beforeprint", () => Object.keys(charts).forEach((key) => draw(key, true)));
  addEventListener("afterprint", () => drawn.forEach((key) => draw(key)));
})();
