"""How fast everything is, and a soak that looks for faults: the command `bench`."""
