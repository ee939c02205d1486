diff @short_code @short_code --unit nvtx:^schedule$
