// Search and filters of an index: the entries are in the page, and the choice is in its address, so it can be shared.
(() => {
  "use strict";
  const form = document.getElementById("search"), entries = [...document.querySelectorAll(".entries > li, [data-run]")];
  const texts = entries.map((one) => `${one.textContent} ${one.dataset.words ?? ""}`.toLowerCase());
  const count = document.getElementById("count"), none = document.getElementById("none");
  const fields = [...form.elements].filter((one) => one.name);

  const show = () => {
    const [words, ...filters] = fields, wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    entries.forEach((entry, place) => {
      const fits = wanted.every((word) => texts[place].includes(word))
        && filters.every(({ name, value }) => !value || entry.getAttribute(`data-${name}`) === value);
      entry.hidden = !fits;
      shown += fits;
    });
    const all = entries.length.toLocaleString("en-US");
    count.textContent = shown === entries.length ? `${all} result${shown === 1 ? "" : "s"}` : `${shown.toLocaleString("en-US")} of ${all} results`;
    none.hidden = shown > 0 || !entries.length;
  };
  const keep = () => {
    const kept = new URLSearchParams(fields.filter((one) => one.value).map((one) => [one.name, one.value]));
    history.replaceState(null, "", kept.size ? `#${kept}` : location.pathname + location.search);
  };
  const restore = () => {
    const kept = new URLSearchParams(location.hash.slice(1));
    for (const one of fields) one.value = kept.get(one.name) ?? "";
    show();
  };

  form.hidden = false;
  form.addEventListener("input", () => { show(); keep(); });
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(() => { show(); keep(); }));
  addEventListener("hashchange", restore);
  restore();
})();
