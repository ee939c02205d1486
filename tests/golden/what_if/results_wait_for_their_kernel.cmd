explain @results_copied --pass what_if --md --what-if overlap:copies:DtoH --what-if no:cudaStreamSynchronize
