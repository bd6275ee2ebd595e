// Charts in a notebook or panel: the layer with plotly.js from the kernel, which a page asks for once.
export default {
  render({ model, el }) {
    const frames = [];
    const colour = (name) => getComputedStyle(el.firstElementChild ?? el).getPropertyValue(`--hdbkit-${name}`).trim();
    const plotly = () => (window.hdbkitPlotly ??= new Promise((bring) => {
      window.hdbkitBring = bring;
      model.send({ kind: "plotly" });
    }));
    let layer = null;

    // plotly.js sets no global of its own here: a page may have another one.
    function brought(buffer) {
      if (!window.hdbkitBring) return;
      const script = document.createElement("script");
      script.textContent = `{ const module = { exports: {} };\n${new TextDecoder().decode(buffer)}\nwindow.hdbkitBring(module.exports); }`;
      document.head.append(script);
      script.remove();
      delete window.hdbkitBring;
    }

    function figure(chart) {
      const made = document.createElement("figure"), title = document.createElement("figcaption");
      const place = document.createElement("div"), words = document.createElement("p");
      made.className = "hdbkit-chart";
      title.textContent = chart.question;
      words.textContent = chart.words;
      place.style.minHeight = `${chart.figure.layout.height + 28}px`;
      made.append(title, place, words);
      return [made, place];
    }

    // Charts in sight are drawn at once, the others while the browser is idle: a sweep has ten.
    const idle = window.requestIdleCallback ?? ((callback) => setTimeout(callback, 200));
    function drawRest() {
      const next = frames.find(([place]) => place.isConnected && !layer.isDrawn(place));
      if (!next) return;
      near.unobserve(next[0]);
      layer.draw(...next).then(() => idle(drawRest));
    }
    const near = new IntersectionObserver((seen) => {
      for (const { target, isIntersecting } of seen) {
        if (!isIntersecting) continue;
        near.unobserve(target);
        layer.draw(target, frames.find(([place]) => place === target)[1]);
      }
    }, { rootMargin: "50% 0px" });

    function heard(message, buffers) {
      if (message.kind === "plotly") return brought(buffers[0]);
      if (message.kind !== "charts") return;
      const { names, config, charts } = JSON.parse(new TextDecoder().decode(buffers[0]));
      const opened = model.get("opens") ? (run) => model.send({ kind: "run", run }) : null;
      near.disconnect();
      layer = chartLayer({ names, config, colour, plotly, opened });
      frames.length = 0;
      el.replaceChildren(...charts.map((chart) => {
        const [made, place] = figure(chart);
        frames.push([place, chart]);
        return made;
      }));
      for (const [place] of frames) near.observe(place);
      idle(drawRest);
    }

    const themed = new MutationObserver(() => layer?.redraw());
    themed.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-light", "data-jp-theme-name"] });
    model.on("msg:custom", heard);
    model.send({ kind: "hello" });
    return () => {
      themed.disconnect();
      near.disconnect();
      model.off("msg:custom", heard);
    };
  },
};
