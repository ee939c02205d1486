explain @server_waits --out o
