ask @poll_loop what-if kernel:/^work$/:2x
