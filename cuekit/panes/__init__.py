"""The terminal multiplexer: panes, their screens, and text typed into them."""
