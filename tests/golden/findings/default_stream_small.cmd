explain @default_stream_small --pass findings --md
