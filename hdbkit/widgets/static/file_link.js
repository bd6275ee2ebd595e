// A link to a file that the kernel hands over as bytes: opened or kept by the browser, wherever the file lies.
function render({ model, el }) {
  let address = null;

  function heard({ name, kind, open }, buffers) {
    if (address) URL.revokeObjectURL(address);
    address = URL.createObjectURL(new Blob(buffers, { type: kind }));
    const link = document.createElement("a");
    Object.assign(link, { href: address, textContent: name, target: "_blank", className: "hdbkit-link" });
    if (!open) link.download = name;
    el.replaceChildren(link);
  }

  model.on("msg:custom", heard);
  return () => model.off("msg:custom", heard);
}

export default { render };
