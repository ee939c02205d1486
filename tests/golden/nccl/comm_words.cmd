explain @comm_words --pass nccl,partition --md
