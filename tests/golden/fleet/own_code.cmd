fleet @own_code_rank0 @own_code_rank1 -o o
