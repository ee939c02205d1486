explain @gpu_metrics --out o
