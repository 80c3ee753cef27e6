"""Who may do what: requests, rules, risk, and the one place that waits for a decision."""
