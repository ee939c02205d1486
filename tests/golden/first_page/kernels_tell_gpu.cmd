explain @kernels_tell_gpu --out o
