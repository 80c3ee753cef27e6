"""The command line: parse, call one service function, render."""
