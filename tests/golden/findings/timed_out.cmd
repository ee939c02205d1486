explain @timed_out --pass findings --md
