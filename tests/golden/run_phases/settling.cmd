explain @settling --pass run_phases --md
