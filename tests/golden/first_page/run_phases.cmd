explain @run_phases --out o
