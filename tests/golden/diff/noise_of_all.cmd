diff @diff_before @diff_heavy --noise 60% --gate step:+3% --gate step.mean:+3% --gate compute:+3% --md
