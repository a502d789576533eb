"""The plugins that come with the scheduler, a file each."""
