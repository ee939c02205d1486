explain @replay_outside --pass what_if --md --what-if no:cudaStreamSynchronize --what-if host:2x
