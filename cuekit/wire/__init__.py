"""Bytes, lines, JSON-RPC and child processes; knows no agent."""
