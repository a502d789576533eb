"""One module a command: it wires the parts together and speaks to people."""
