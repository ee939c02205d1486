ask @f32_half steps
