// A password field that keeps nothing: what is typed goes to the kernel as a message and leaves the page.
// No trait of the model holds it, so neither a saved notebook nor its widget state can.
function render({ model, el }) {
  el.classList.add("jupyter-widgets", "widget-inline-hbox", "widget-text", "hdbkit-password");
  const label = document.createElement("label");
  label.className = "widget-label";
  const input = document.createElement("input");
  input.type = "password";
  input.autocomplete = "new-password";
  input.spellcheck = false;
  input.id = `hdbkit-password-${model.get("field_id")}`;
  label.htmlFor = input.id;
  const forget = document.createElement("button");
  forget.className = "jupyter-button hdbkit-forget";
  forget.type = "button";
  forget.textContent = "Forget";
  forget.title = "remove the password from the kernel's memory";

  function show() {
    label.textContent = model.get("description");
    input.placeholder = model.get("hint");
    forget.style.display = model.get("kept") ? "" : "none";
  }
  function send() {
    if (!input.value) return;
    model.send({ password: input.value });
    input.value = "";
  }
  input.addEventListener("change", send);
  input.addEventListener("keydown", (event) => {
    event.stopPropagation(); // the notebook's shortcuts are not for what is typed here
    if (event.key === "Enter") send();
  });
  forget.addEventListener("click", () => model.send({ password: "" }));
  for (const name of ["hint", "kept", "description"]) model.on(`change:${name}`, show);
  show();
  el.append(label, input, forget);
  return () => {
    for (const name of ["hint", "kept", "description"]) model.off(`change:${name}`, show);
  };
}

export default { render };
