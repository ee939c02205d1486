explain @green_contexts --pass kernel_shape --md
