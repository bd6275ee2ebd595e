"""The pages for browsers: jobs, their course and result, targets.

Pages are made on the server and work without JavaScript, except for charts and the live view. They load nothing from
another host, run no script but their own files, and change something only by a form that was made for the session.
"""

from hdbkit.service.pages.site import make_pages

__all__ = ["make_pages"]
