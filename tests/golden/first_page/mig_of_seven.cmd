explain @mig_of_seven --out o
