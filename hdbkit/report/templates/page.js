(() => {
  "use strict";
  const { names, charts, config, reports, site } = JSON.parse(document.getElementById("specs").textContent);

  // plotly.js is text until something is drawn: the words and tables of the page do not wait for it.
  const plotly = () => {
    if (!window.Plotly) {
      const script = document.createElement("script");
      script.textContent = document.getElementById("plotly").textContent;
      document.head.append(script);
    }
    return window.Plotly;
  };

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
  const layer = chartLayer({
    names, config, plotly, opened: reports && opened,
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
