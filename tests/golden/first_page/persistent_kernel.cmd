explain @persistent_kernel -o o
