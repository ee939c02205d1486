diff @diff_before @diff_slower --steps 0..2 --gate step:+3% -o report
