"""The agent: ``hdbkit agent`` runs it on a database host, so that sweeps on other hosts can change its server.

The rules that must not break:

* The agent runs only the commands of the target that it was started with, as lists of words and without a shell.
* It changes only settings in the server's own list. Text settings must also be named at the start, since their value
  may name a program or a file.
* It neither receives nor sends the content of a file.
* It answers no request without the token, and beyond loopback it uses TLS only.
* It writes one log line per request.
"""

from hdbkit.agent.serve import AgentOptions, Started, serve

__all__ = ["AgentOptions", "Started", "serve"]
