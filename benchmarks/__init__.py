"""What the harness costs, as ratios to baselines of the same run. Not tests: nothing here fails a build."""
