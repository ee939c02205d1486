explain @default_stream --pass findings --md
