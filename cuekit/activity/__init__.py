"""What an agent does at this moment: from its hooks, its own logs, its title, its screen."""
