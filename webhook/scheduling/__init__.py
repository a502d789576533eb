"""Scheduling decisions: the node table, the cache, the framework and its plugins. No I/O."""
