"""What can be done with tasks; the command line calls only this."""
