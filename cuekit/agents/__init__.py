"""One pure module an agent: its command line, capabilities and needs."""
