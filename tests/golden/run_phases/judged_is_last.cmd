explain @run_phases_last --pass run_phases --md
