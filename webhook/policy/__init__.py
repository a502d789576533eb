"""What an admin writes: the policy's model, its file, and the file's reload."""
