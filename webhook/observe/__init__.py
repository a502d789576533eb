"""What the product shows of itself: logs and metrics."""
