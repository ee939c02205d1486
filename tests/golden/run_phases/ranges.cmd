explain @run_phases --pass run_phases,windows --md
