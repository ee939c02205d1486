diff @diff_steps @diff_steps_beside --md
