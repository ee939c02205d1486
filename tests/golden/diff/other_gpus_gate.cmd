diff @turing_f32 @settling --gate 'step:<+5%' --gate launches:+0 --md
