diff @turing_f32 @settling --md
