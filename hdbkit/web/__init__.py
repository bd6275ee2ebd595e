"""What hdbkit's HTTP servers, the agent and the service, have in common: socket, TLS, tokens, guard, log.

A request reaches an application only with a valid token, except for paths that need none. Beyond loopback it comes
by TLS only. Each request is one line of the log.
"""
