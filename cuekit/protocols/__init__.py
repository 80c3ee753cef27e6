"""The agents' machine protocols: one module to speak each, one pure module to decode each."""
