explain @comm_words --pass partition,nccl --json
