explain @backpressure --pass launch_latency --json
