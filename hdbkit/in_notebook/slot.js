// Shows a living panel inside plain HTML: every element of the page with the class of this slot gets a view of the
// panel for as long as the kernel lives. The notebook keeps the HTML alone, so it can be opened without a kernel.
// A page that was loaded again ignores updates of displays, so the still is also written to the notebook from here.
export default {
  async initialize({ model }) {
    const manager = model.widget_manager;
    const root = await manager.get_model(model.get("root").slice("IPY_MODEL_".length));
    const views = new Map();
    let looking = 0;

    async function fill(slot) {
      views.set(slot, null);
      const view = await manager.create_view(root);
      views.set(slot, view);
      const widget = view.luminoWidget;
      if (slot.isConnected) widget.constructor.attach(widget, slot);
      lookSoon();
    }

    // A view leaves the page the way its kind expects: from a place in the page.
    function remove(slot) {
      const view = views.get(slot);
      views.delete(slot);
      slot.classList.remove("hdbkit-alive");
      if (view?.luminoWidget.isAttached && !slot.isConnected) document.body.append(view.luminoWidget.node);
      view?.remove();
    }

    // The notebook redraws a slot whenever the still changes: the panel moves from the old one to the new one.
    function look() {
      looking = 0;
      const closed = root.comm?.jsServicesComm?.isDisposed;  // its notebook; opened again, that has another model
      if (closed) observer.disconnect();
      const alive = root.comm_live && !closed;
      const slots = alive ? [...document.getElementsByClassName(model.get("slot"))] : [];
      const left = [...views.keys()].filter((slot) => views.get(slot) && !slots.includes(slot));
      for (const slot of slots.filter((one) => !views.has(one))) {
        const old = left.shift();
        if (!old) {
          fill(slot);
          continue;
        }
        slot.append(views.get(old).luminoWidget.node);
        views.set(slot, views.get(old));
        views.delete(old);
      }
      left.forEach(remove);
      for (const slot of slots) slot.classList.toggle("hdbkit-alive", !!views.get(slot));
    }

    // Replaces what the notebook keeps of this panel, where that is not the same already.
    function keep({ kind, bundle }) {
      const text = (output) => [output?.data?.["text/html"] ?? ""].flat().join("");
      for (const cell of (kind === "still" && manager.context?.model?.cells) || []) {
        for (let at = 0; at < (cell.outputs?.length ?? 0); at++) {
          const output = cell.outputs.get(at).toJSON();
          if (text(output).includes(model.get("slot")) && text(output) !== bundle["text/html"])
            cell.outputs.set(at, { ...output, data: bundle });
        }
      }
    }

    const lookSoon = () => (looking ||= requestAnimationFrame(look));
    const observer = new MutationObserver(lookSoon);
    observer.observe(document.body, { childList: true, subtree: true });
    root.on("comm_live_update", lookSoon);
    model.on("msg:custom", keep);
    model.send({ kind: "hello" });
    look();
    return () => {
      observer.disconnect();
      model.off("msg:custom", keep);
      cancelAnimationFrame(looking);
      [...views.keys()].forEach(remove);
    };
  },
};
