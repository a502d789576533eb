"""Looks at manifests and at clusters with the eyes of the webhook, and changes nothing."""
