diff @diff_before @diff_one_more --unit kernel:^qkv$ --md
