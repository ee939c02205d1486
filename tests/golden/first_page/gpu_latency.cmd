explain @gpu_latency --out o
