explain @gpus_of_threads --out o
