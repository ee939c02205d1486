diff @diff_before @diff_pauses_often --unit kernel:^embed$ --gate step.mean:+5% -o report
