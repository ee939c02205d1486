explain @pageable_both_ways --out o
