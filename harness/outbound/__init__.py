"""HTTP that goes out from the host: one client, which does not reach private addresses unless they are listed."""
