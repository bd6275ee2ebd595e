// The error of a panel: HTML that the kernel escaped, focused on demand.
function render({ model, el }) {
  const show = () => { el.innerHTML = model.get("value"); };
  const heard = (message) => { if (message.do === "focus") el.focus(); };
  el.tabIndex = -1;
  model.on("change:value", show);
  model.on("msg:custom", heard);
  show();
  return () => {
    model.off("change:value", show);
    model.off("msg:custom", heard);
  };
}

export default { render };
