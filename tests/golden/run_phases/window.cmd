explain @run_phases --window 0.05..0.1 --pass run_phases --md
