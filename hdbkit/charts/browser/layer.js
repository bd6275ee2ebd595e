// The chart layer of reports, panels and notebooks: a drawing in the colours of its page with its buttons, a cursor
// that all charts over the same time share, zoom by dragging, and runs that open where their dots are clicked.
//
// A chart is {key, question, words, figure, csv}; csv is null where its data are not known. `place` finds the present
// value of a colour of the palette by its name, `plotly` brings plotly.js, and `opened(run)` is called where the dot of
// a run is clicked; `ranged([from, to])` where a range of time is chosen, null: all. Without them nothing is.

// plotly.js is compressed text in a page until something is drawn: its words and tables do not wait for it.
let plotlyUnpacked = null;
function unpackedPlotly() {
  if (window.Plotly) return window.Plotly;
  plotlyUnpacked ??= (async () => {
    const packed = Uint8Array.from(atob(document.getElementById("plotly").textContent), (letter) => letter.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    const script = document.createElement("script");
    script.textContent = await new Response(stream).text();
    document.head.append(script);
    return window.Plotly;
  })();
  return plotlyUnpacked;
}

function chartLayer({ names, config, colour, plotly, opened = null, ranged = null }) {
  const TIME = "seconds ", MAX_NAMED = 6, TITLE_PX = 44;
  const shown = new Map();  // element -> what is drawn in it

  function make(name, attributes = {}, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) if (value !== null) made.setAttribute(key, value);
    made.append(...children);
    return made;
  }

  // -- how it looks --------------------------------------------------------------------------------------

  function recoloured(figure, light) {
    const now = (hex) => (!light && names[hex.toLowerCase()] && colour(names[hex.toLowerCase()])) || hex;
    return JSON.parse(JSON.stringify(figure).replace(/#[0-9a-f]{6}\b/gi, now));
  }

  async function drawNow(one, light = false) {
    const { data, layout } = recoloured(one.chart.figure, light);
    if (one.place.clientWidth && one.place.clientWidth < 560) {
      layout.font.size = 11;
      layout.margin.r = 8;
      for (const axis of [layout.xaxis, layout.yaxis]) axis.title.font.size = 11;
    }
    Object.assign(layout, { uirevision: "kept", dragmode: "zoom", autosize: true });
    const Plotly = await plotly();
    const first = !one.drawn;
    await Plotly.react(one.plot, data, layout, { ...config, displayModeBar: false, responsive: false });
    one.drawn = true;
    one.place.dataset.drawn = "";
    if (first) listen(one, Plotly);
  }

  function listen(one, Plotly) {
    const { plot } = one;
    new ResizeObserver(() => { if (plot.isConnected && plot.clientWidth) Plotly.Plots.resize(plot); }).observe(plot);
    plot.on("plotly_relayout", (change) => zoomed(one, change, Plotly));
    const run = ({ points: [point] }) => (point.data.meta === "run" && point.customdata ? point.customdata : null);
    plot.on("plotly_hover", (event) => plot.classList.toggle("hdbkit-opens", !!opened && !!run(event)));
    plot.on("plotly_unhover", () => plot.classList.remove("hdbkit-opens"));
    plot.on("plotly_click", (event) => { if (opened && run(event)) opened(run(event), one.place); });
    plot.addEventListener("mousemove", (event) => point(one, event));
    plot.addEventListener("mouseleave", () => cursor(one, null));
  }

  // -- zoom and cursor, which all charts over the same time share ----------------------------------------

  const axis = (one) => one.chart.figure.layout.xaxis?.title?.text ?? "";
  const peers = (one) => [...shown.values()].filter(
    (other) => other.drawn && other.plot.isConnected && (other === one || (axis(one).startsWith(TIME) && axis(other) === axis(one))),
  );

  function zoomed(one, change, Plotly) {
    const touched = Object.keys(change).some((key) => /^xaxis|^yaxis/.test(key));
    if (!touched) return;
    const { xaxis, yaxis } = one.plot._fullLayout;
    const home = one.chart.figure.layout.xaxis?.range;
    const all = change["xaxis.autorange"] || change["yaxis.autorange"] || (home && home.join() === xaxis.range.join());
    one.reset.hidden = Boolean(all) || (xaxis.range.join() === one.ranges?.x && yaxis.range.join() === one.ranges?.y);
    if (one.following || !axis(one).startsWith(TIME)) return;
    ranged?.(all ? null : [...xaxis.range]);
    for (const other of peers(one)) {
      if (other === one) continue;
      other.following = true;
      const wanted = all && !home ? { "xaxis.autorange": true } : { "xaxis.range": [...xaxis.range] };
      Plotly.relayout(other.plot, wanted).finally(() => { other.following = false; });
    }
  }

  async function unzoom(one) {
    const Plotly = await plotly(), { layout } = one.chart.figure;
    const back = (name) => (layout[name]?.range ? { [`${name}.range`]: [...layout[name].range] } : { [`${name}.autorange`]: layout[name]?.autorange ?? true });
    await Plotly.relayout(one.plot, { ...back("xaxis"), ...back("yaxis") });
    one.reset.hidden = true;
    one.pngButton.focus();
  }

  let waiting = null;
  function point(one, event) {
    const { xaxis } = one.plot._fullLayout, at = event.clientX - one.plot.getBoundingClientRect().left - xaxis._offset;
    const x = axis(one).startsWith(TIME) && at >= 0 && at <= xaxis._length ? xaxis.p2d(at) : null;
    if (waiting === null) requestAnimationFrame(() => { const next = waiting; waiting = null; cursor(...next); });
    waiting = [one, x];
  }

  function cursor(one, x) {
    for (const other of peers(one)) {
      const { xaxis, yaxis } = other.plot._fullLayout, at = x === null ? -1 : xaxis.d2p(x);
      const inside = at >= 0 && at <= xaxis._length;
      other.line.hidden = !inside;
      other.readout.textContent = inside ? values(other, x) : "";
      if (inside) Object.assign(other.line.style, { left: `${xaxis._offset + at}px`, top: `${yaxis._offset}px`, height: `${yaxis._length}px` });
    }
  }

  const number = (value) => (typeof value === "number" ? value.toLocaleString("en-US", Math.abs(value) >= 1000 ? { maximumFractionDigits: 0 } : { maximumSignificantDigits: 4 }) : String(value));

  // The value of each line at x: of the last point at or before it, as rates are of the second that begins there.
  function values(one, x) {
    const named = one.plot.data.filter((trace) => Array.isArray(trace.x) && trace.x.length > 2 && trace.name && trace.hoverinfo !== "skip");
    const found = named.slice(0, MAX_NAMED).map((trace) => {
      let low = 0, high = trace.x.length - 1;
      while (low < high) {
        const middle = Math.ceil((low + high) / 2);
        if (trace.x[middle] <= x) low = middle; else high = middle - 1;
      }
      const y = trace.y?.[low];
      return trace.x[low] <= x && y !== null && y !== undefined ? `${trace.name} ${number(y)}` : null;
    });
    return [`${number(x)} s`, ...found.filter(Boolean)].join("   ");
  }

  // -- what can be taken away ----------------------------------------------------------------------------

  function save(name, content, type) {
    const link = make("a", { href: URL.createObjectURL(new Blob([content], { type })), download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  }

  // The image has the light colours, a white ground and the question; where the chart is zoomed, so is the image.
  async function image(one, format) {
    const Plotly = await plotly(), { data, layout } = recoloured(one.chart.figure, true);
    const { xaxis, yaxis } = one.plot._fullLayout;
    const height = layout.height + TITLE_PX, width = Math.max(900, one.plot.clientWidth);
    layout.xaxis.range = [...xaxis.range];
    layout.yaxis.range = [...yaxis.range];
    Object.assign(layout, { paper_bgcolor: "#ffffff", width, height });
    layout.title = { text: one.chart.question, x: 0.01, y: 1 - 8 / height, yanchor: "top", font: { size: 16 } };
    layout.margin.t += TITLE_PX;
    layout.legend = { ...layout.legend, yref: "container", y: 1 - TITLE_PX / height, yanchor: "top" };
    const address = await Plotly.toImage({ data, layout }, { format, width, height, scale: format === "png" ? 2 : 1 });
    const [, kind, text] = /^data:image\/(?:png|svg\+xml)(;base64)?,(.*)$/s.exec(address);
    if (!kind) return save(`${one.chart.key}.svg`, decodeURIComponent(text), "image/svg+xml");
    save(`${one.chart.key}.png`, Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)), "image/png");
  }

  // -- its element ---------------------------------------------------------------------------------------

  function button(text, title, action) {
    const made = make("button", { type: "button", title }, text);
    made.addEventListener("click", action);
    return made;
  }

  // Draw a chart in an element, or draw it again: as of its present colours, or in the light ones for paper.
  function draw(place, chart, light = false) {
    let one = shown.get(place);
    if (!one || one.chart !== chart) {
      one = { chart, place, drawn: false, following: false };
      one.plot = make("div", { class: "hdbkit-plot", role: "img", "aria-label": chart.words });
      one.plot.style.height = `${chart.figure.layout.height}px`;
      one.line = make("div", { class: "hdbkit-cursor", hidden: "" });
      one.readout = make("span", { class: "hdbkit-readout" });
      one.reset = button("Reset zoom", "show all of the chart again", () => unzoom(one));
      one.reset.hidden = true;
      one.pngButton = button("PNG", "save this chart as an image", () => image(one, "png"));
      const tools = make("div", { class: "hdbkit-chart-tools" }, one.readout, one.reset, one.pngButton,
        button("SVG", "save this chart as a vector image", () => image(one, "svg")),
        ...(chart.csv === null ? [] : [button("CSV", "save the data of this chart", () => save(`${chart.key}.csv`, chart.csv, "text/csv"))]));
      place.classList.add("hdbkit-place");
      place.replaceChildren(tools, one.plot, one.line);
      shown.set(place, one);
    }
    return drawNow(one, light);
  }

  // Draw all again, as when the colours of the page changed; those that left the page are forgotten.
  function redraw(light = false) {
    for (const [place, one] of shown) {
      if (!place.isConnected) shown.delete(place);
      else if (one.drawn) drawNow(one, light);
    }
  }

  return { draw, redraw, isDrawn: (place) => Boolean(shown.get(place)?.drawn) };
}
