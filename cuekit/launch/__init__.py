"""What runs inside the pane: script, supervisor, transcript writer."""
