// Marks the fields of a panel that have an error, and puts its words below them without moving anything.
function render({ model, el }) {
  const show = () => {
    const panel = el.closest(".hdbkit-panel");
    if (!panel) return;
    for (const old of panel.querySelectorAll(".hdbkit-field-error")) {
      const input = panel.querySelector(`[aria-describedby="${old.id}"]`);
      input?.removeAttribute("aria-invalid");
      input?.removeAttribute("aria-describedby");
      old.remove();
    }
    for (const [name, words] of Object.entries(model.get("errors"))) {
      for (const field of panel.querySelectorAll(`.hdbkit-field-${CSS.escape(name)}`)) {
        const input = field.querySelector("input, select, textarea"), note = document.createElement("span");
        if (!input) continue;
        note.className = "hdbkit-field-error";
        note.id = `hdbkit-error-${Math.random().toString(36).slice(2)}`;
        note.textContent = words;
        input.setAttribute("aria-invalid", "true");
        input.setAttribute("aria-describedby", note.id);
        field.append(note);
      }
    }
  };
  model.on("change:errors", show);
  requestAnimationFrame(show);
  return () => model.off("change:errors", show);
}

export default { render };
