"""The panels for browsers: Voila executes a notebook of one line for each page, and its guard passes it requests.

Voila listens on a Unix socket that only this account can open. A browser reaches it through the service, with the
session and the role that its other pages need, so address, TLS, limits and log are those of the service. A page can
send messages to widgets and no code. Only ``passing`` and ``voila`` need the packages of the extra ``app``.
"""
