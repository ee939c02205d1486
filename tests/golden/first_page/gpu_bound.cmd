explain @gpu_bound --out o
