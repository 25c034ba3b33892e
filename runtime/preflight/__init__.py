"""Looks at the machine before the engine starts, and explains what does not fit the plan. One module per look."""
