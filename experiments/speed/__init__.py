"""The core's speed beside another package, and in instructions."""
