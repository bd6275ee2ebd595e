(() => {
  "use strict";
  const { names, figures } = JSON.parse(document.getElementById("specs").textContent);
  const config = { displayModeBar: false, displaylogo: false, responsive: true, showSendToCloud: false, plotlyServerURL: "" };
  const narrow = () => window.innerWidth < 560;

  // Every colour of a figure is one of the page's; it is replaced by that colour's present value.
  const recolour = (figure, light) => {
    const style = getComputedStyle(document.documentElement);
    const now = (hex) => {
      const name = names[hex.toLowerCase()];
      return name && !light ? style.getPropertyValue("--" + name).trim() : hex;
    };
    return JSON.parse(JSON.stringify(figure).replace(/#[0-9a-f]{6}\b/gi, now));
  };

  const drawOne = (key, light) => {
    const { data, layout } = recolour(figures[key], light);
    if (narrow()) {
      layout.font.size = 11;
      layout.margin.r = 8;
      for (const axis of [layout.xaxis, layout.yaxis]) axis.title.font.size = 11;
    }
    Plotly.react("chart-" + key, data, layout, config);
  };

  // One chart a turn, from the top: the page can be read and scrolled while those below are drawn.
  const waiting = Object.keys(figures);
  const drawNext = () => {
    if (!waiting.length) return;
    drawOne(waiting.shift(), false);
    setTimeout(drawNext);
  };
  const draw = (light = false) => {
    waiting.length = 0;
    for (const key of Object.keys(figures)) drawOne(key, light);
  };

  drawNext();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => draw());
  addEventListener("beforeprint", () => draw(true));
  addEventListener("afterprint", () => draw());
})();
