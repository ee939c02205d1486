explain @hostile_names --pass top_kernels --md
