(() => {
  "use strict";
  const { names, figures, config: shared } = JSON.parse(document.getElementById("specs").textContent);
  const config = { ...shared, displayModeBar: false, responsive: true };
  const narrow = () => window.innerWidth < 560;

  // plotly.js is text until something is drawn: the words and tables of the page do not wait for it.
  const plotly = () => {
    if (!window.Plotly) {
      const script = document.createElement("script");
      script.textContent = document.getElementById("plotly").textContent;
      document.head.append(script);
    }
    return window.Plotly;
  };

  // Every colour of a figure is one of the page's; it is replaced by that colour's present value.
  const recolour = (figure, light) => {
    const style = getComputedStyle(document.documentElement);
    const now = (hex) => {
      const name = names[hex.toLowerCase()];
      return name && !light ? style.getPropertyValue("--" + name).trim() : hex;
    };
    return JSON.parse(JSON.stringify(figure).replace(/#[0-9a-f]{6}\b/gi, now));
  };

  const drawn = new Set();
  const draw = (key, light = false) => {
    const { data, layout } = recolour(figures[key], light);
    if (narrow()) {
      layout.font.size = 11;
      layout.margin.r = 8;
      for (const axis of [layout.xaxis, layout.yaxis]) axis.title.font.size = 11;
    }
    drawn.add(key);
    plotly().react("chart-" + key, data, layout, config);
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
    const key = Object.keys(figures).find((one) => !drawn.has(one));
    if (key === undefined) return;
    if (drawn.size) draw(key);
    idle(drawRest);
  };
  requestAnimationFrame(() => {
    want(Object.keys(figures)[0]);
    for (const plot of document.querySelectorAll(".plot")) near.observe(plot);
    idle(drawRest);
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawn.forEach((key) => draw(key)));
  addEventListener("beforeprint", () => Object.keys(figures).forEach((key) => draw(key, true)));
  addEventListener("afterprint", () => drawn.forEach((key) => draw(key)));
})();
