"""What `harness init` writes."""
