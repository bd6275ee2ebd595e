"""What `make lab` starts: JupyterLab on the notebooks, a tile for each, and nothing that asks an outside address."""

from pathlib import Path

from traitlets.config import get_config

HERE = Path(__file__).resolve().parent

c = get_config()
c.ServerApp.root_dir = str(HERE.parent)
c.LabApp.extra_labextensions_path = [str(HERE / "labextensions")]
c.LabApp.app_settings_dir = str(HERE / "settings")
c.LabApp.news_url = None
c.LabApp.check_for_updates_class = "jupyterlab.NeverCheckForUpdate"
c.LabApp.extension_manager = "readonly"
c.ServerApp.allow_root = True  # the only account of many containers; the token guards it as any other
