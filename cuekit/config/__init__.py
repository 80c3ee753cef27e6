"""The project's and the user's configuration, and the trust given to it."""
