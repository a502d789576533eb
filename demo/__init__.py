"""The main job, shown on a real control plane: what `make demo` runs."""
