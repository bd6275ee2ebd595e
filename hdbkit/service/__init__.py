"""The service: ``hdbkit serve`` offers the verbs of the API as jobs by HTTP, ``hdbkit app`` the panels beside them.

The rules that must not break:

* A job is a verb in a process of its own, which does not depend on the service. Its files in the results folder are
  all that is known of it, so a restarted service lists and follows it.
* A request names targets, workloads and results of the workspace, never a path, an address or a password.
* Every request needs a token with a role, except for the page that asks for one. A cookie is valid for pages, never
  for the API, and changes something only with the token of its session's forms.
* No token and no password is in a file, a log line or a command line; tokens are kept as hashes.
"""

from hdbkit.service.serve import ServiceOptions, Started, serve

__all__ = ["ServiceOptions", "Started", "serve"]
