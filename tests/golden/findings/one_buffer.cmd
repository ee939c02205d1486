explain @one_buffer --pass findings --md
