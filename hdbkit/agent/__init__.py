"""The agent: what ``hdbkit agent`` runs on a database's host, so that sweeps elsewhere can change its server.

The rules that must not break: only the commands of the target that it was started with are ever run, as lists and
without a shell; settings are changed through the server's own list of them, and those that hold a text only where
they were named at the start, since a text may name a program or a file; no content of a file comes in or goes out;
nothing is answered without the token; beyond loopback nothing is said but over TLS; each request leaves a line.
"""

from hdbkit.agent.serve import AgentOptions, Started, serve

__all__ = ["AgentOptions", "Started", "serve"]
