explain @cuda_doubted --out o
