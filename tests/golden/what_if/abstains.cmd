explain @graphs_opaque --pass what_if --md --what-if host:2x
