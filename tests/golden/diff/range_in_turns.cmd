diff @diff_steps @diff_steps_in_turns --gate step.mean:+3% -o report
