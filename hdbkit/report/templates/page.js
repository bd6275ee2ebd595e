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

  const draw = (light = false) => {
    for (const [key, figure] of Object.entries(figures)) {
      const { data, layout } = recolour(figure, light);
      if (narrow()) {
        layout.font.size = 11;
        layout.margin.r = 8;
        for (const axis of [layout.xaxis, layout.yaxis]) axis.title.font.size = 11;
      }
      Plotly.react("chart-" + key, data, layout, config);
    }
  };

  draw();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => draw());
  addEventListener("beforeprint", () => draw(true));
  addEventListener("afterprint", () => draw());
})();
