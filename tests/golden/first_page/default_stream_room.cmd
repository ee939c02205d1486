explain @default_stream_room --out o
