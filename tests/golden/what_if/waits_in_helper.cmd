explain @waits_in_helper --pass what_if --md --what-if kernel:wave:2x --what-if host:2x
