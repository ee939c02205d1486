explain @default_stream_copy --pass findings --md
