"""What the harness costs, as ratios to baselines of the same run. Not tests: nothing here fails a build."""

import logging

import structlog

structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
