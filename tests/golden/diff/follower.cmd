diff @diff_follower @diff_leader --unit kernel:^embed --md
