explain @iterations_nvtx --md --pass launches --fail-on medium
