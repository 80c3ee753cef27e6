"""The process that speaks an agent's protocol in a supervised task's pane."""
