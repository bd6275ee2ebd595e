// A table whose rows can be picked, by click or by keyboard, and whose heads sort it.
function render({ model, el }) {
  function cell(name, text, parent, attributes = {}) {
    const made = document.createElement(name);
    made.textContent = text;
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    parent.append(made);
    return made;
  }

  function pick(key, event) {
    const picked = model.get("picked");
    const next = picked.includes(key) ? picked.filter((one) => one !== key) : [...picked, key];
    model.set("picked", event.shiftKey || event.ctrlKey || event.metaKey ? next : picked.includes(key) && picked.length === 1 ? [] : [key]);
    model.save_changes();
  }

  function draw() {
    const { heads, rows, picked, sorted_by: by, descending, numeric } = Object.fromEntries(
      ["heads", "rows", "picked", "sorted_by", "descending", "numeric"].map((name) => [name, model.get(name)]));
    const table = document.createElement("table");
    table.className = "hdbkit-pick";
    const top = cell("tr", "", cell("thead", "", table));
    heads.forEach((head, index) => {
      const sign = head === by ? (descending ? " ▾" : " ▴") : "";
      const order = head === by ? (descending ? "descending" : "ascending") : "none";
      const side = numeric[index] ? { class: "n" } : {};
      const button = cell("button", head + sign, cell("th", "", top, { scope: "col", "aria-sort": order, ...side }));
      button.addEventListener("click", () => {
        model.set("descending", head === by ? !descending : numeric[index]);
        model.set("sorted_by", head);
        model.save_changes();
      });
    });
    const body = cell("tbody", "", table);
    for (const [key, ...values] of rows) {
      const row = cell("tr", "", body, { tabindex: 0, "aria-selected": picked.includes(key) });
      values.forEach((value, index) => cell("td", value, row, numeric[index] ? { class: "n" } : {}));
      row.addEventListener("click", (event) => pick(key, event));
      row.addEventListener("keydown", (event) => {
        if (event.key === " " || event.key === "Enter") { event.preventDefault(); pick(key, event); }
      });
    }
    el.replaceChildren(table);
  }

  model.on("change", draw);
  draw();
  return () => model.off("change", draw);
}

export default { render };
