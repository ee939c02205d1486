explain @one_waits --replay-ops 30 --pass what_if --md
