explain @mig_counters --out o
