"""The SQLite store: tasks and what is known of them."""
