explain @work_in_turns --out o --pass nccl -q
