explain @nvtx_pyprof --pass nvtx --md
