// A tile in JupyterLab's launcher for each notebook of the top folder, in the order of their names.
// It is small enough to be its own build: JupyterLab asks a prebuilt extension for init() and get(), no bundler needed.
(() => {
  "use strict";
  const NAME = "hdbkit-launcher";
  let shared;

  async function part(name) {
    const [version] = Object.values(shared[name]);
    return (await version.get())();
  }

  // The notebook's number on the colour of our charts, as the tile's picture.
  function picture(number) {
    const svg =
      '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 52 52"><rect width="52" height="52" rx="9" fill="#0069a8"/>' +
      '<text x="26" y="35" font-family="sans-serif" font-size="25" font-weight="600" fill="#fff" text-anchor="middle">' +
      `${number}</text></svg>`;
    return `data:image/svg+xml,${encodeURIComponent(svg)}`;
  }

  function words(path) {
    const text = path.replace(/^\d+_/, "").replace(/\.ipynb$/, "").replaceAll("_", " ");
    return text[0].toUpperCase() + text.slice(1);
  }

  // The first notebook measures nothing before a button is pressed, so its tile runs it.
  async function runAll(app, opened) {
    await opened.context.ready;
    await opened.sessionContext.ready;
    app.shell.activateById(opened.id);
    const top = () => {
      opened.content.activeCellIndex = 0;
      opened.content.scrollToItem(0);
    };
    const ran = app.commands.execute("notebook:run-all-cells");
    top();
    await ran;
    top();  // JupyterLab goes to the last cell that it ran
  }

  async function activate(app, launcher) {
    const { notebookIcon } = await part("@jupyterlab/ui-components");
    const folder = await app.serviceManager.contents.get("", { content: true });
    const notebooks = folder.content.filter((one) => /^\d+_.*\.ipynb$/.test(one.path));
    notebooks.sort((a, b) => a.path.localeCompare(b.path));
    notebooks.forEach(({ path }, place) => {
      const command = `hdbkit:${path}`;
      app.commands.addCommand(command, {
        label: words(path),
        caption: `Open ${path}`,
        icon: notebookIcon,
        execute: async () => {
          const opened = await app.commands.execute("docmanager:open", { path });
          if (place === 0) await runAll(app, opened);
          return opened;
        },
      });
      launcher.add({
        command,
        category: "Notebook",
        rank: place - 100,
        kernelIconUrl: picture(path.match(/^\d+/)[0]),
      });
    });
  }

  window._JUPYTERLAB = window._JUPYTERLAB ?? {};
  window._JUPYTERLAB[NAME] = {
    init: (scope) => {
      shared = scope;
    },
    get: async () => {
      const { ILauncher } = await part("@jupyterlab/launcher");
      const plugin = { id: `${NAME}:plugin`, autoStart: true, requires: [ILauncher], activate };
      return () => ({ __esModule: true, default: plugin });
    },
  };
})();
