explain @f32_half --pass findings --md
