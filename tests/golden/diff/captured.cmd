diff @diff_steps @diff_steps_captured --md
