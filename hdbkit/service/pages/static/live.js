(() => {
  "use strict";
  const section = document.getElementById("live");
  const times = [], rates = [], waits = [];
  const LONGEST = 3600;
  const look = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();

  const draw = () => {
    const axis = { gridcolor: look("grid"), linecolor: look("grid"), zerolinecolor: look("grid"), automargin: true };
    const layout = {
      template: "none", height: 260, margin: { l: 60, r: 16, t: 16, b: 44 }, font: { family: "system-ui, sans-serif", size: 12, color: look("ink") },
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      xaxis: { ...axis, title: { text: "seconds since the start of the run" } },
      yaxis: { ...axis, title: { text: section.dataset.unit || "per second" }, rangemode: "tozero", separatethousands: true, exponentformat: "none" },
    };
    const line = { x: [...times], y: [...rates], mode: times.length > 1 ? "lines" : "markers", line: { color: look("series-1"), width: 2 } };
    const config = { displayModeBar: false, responsive: true };
    window.Plotly.react("chart-live", [line], layout, config);
    const names = Object.keys(waits.find(Boolean) ?? {});
    document.getElementById("chart-waits").hidden = !names.length;
    if (!names.length) return;
    const classes = names.map((name, index) => ({
      x: [...times], y: waits.map((one) => one?.[name] ?? null), name, mode: "lines", stackgroup: "sessions",
      line: { color: look(`series-${1 + (index % 5)}`), width: 1 },
      fillpattern: { shape: ["", "/", "x", ".", "\\", "-"][index % 6], fgcolor: look("shade"), fillmode: "overlay", solidity: 0.2 },
    })).filter((one) => one.y.some((value) => value > 0));
    const yaxis = { ...axis, title: { text: "sessions in the server" }, rangemode: "tozero" };
    window.Plotly.react("chart-waits", classes, { ...layout, yaxis, showlegend: true, legend: { orientation: "h", y: 1.2 } }, config);
  };

  const shown = (value, digits) => (value === null || value === undefined ? "–" : value.toLocaleString("en", { maximumFractionDigits: digits }));
  const write = (id, text) => {
    const place = document.getElementById(id);
    if (place.textContent !== text) place.textContent = text;
  };

  let run = "";
  const add = (facts) => {
    write("doing", [facts.doing, facts.run_doing || facts.run_state].filter(Boolean).join("; ") || "starting");
    if (facts.elapsed_s === undefined) return;
    write("metric", facts.metric || "–");
    write("operations_per_s", shown(facts.operations_per_s, 0));
    write("p95_ms", shown(facts.p95_ms, 2));
    write("failed", shown(facts.failed, 0));
    write("server_cpu_cores", shown(facts.server_cpu_cores, 2));
    if (facts.run_id !== run) {
      run = facts.run_id;
      times.length = rates.length = waits.length = 0;
    }
    if (facts.metric_value === null || (times.length && facts.elapsed_s <= times[times.length - 1])) return;
    section.dataset.unit = facts.unit;
    times.push(facts.elapsed_s);
    rates.push(facts.metric_value);
    waits.push(facts.waits);
    if (times.length > LONGEST) times.shift(), rates.shift(), waits.shift();
  };

  const events = new EventSource(section.dataset.events);
  events.addEventListener("past", (event) => JSON.parse(event.data).forEach(add));
  events.addEventListener("tick", (event) => {
    add(JSON.parse(event.data));
    draw();
  });
  events.addEventListener("end", () => {
    events.close();
    location.reload();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
})();
