explain @replay_event --pass what_if --md --what-if no:cudaStreamWaitEvent
