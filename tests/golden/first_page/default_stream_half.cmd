explain @default_stream_half --out o
