explain @mig_slices --out o
