diff @diff_steps @diff_steps_renamed -o report
