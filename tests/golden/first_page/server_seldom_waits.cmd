explain @server_seldom_waits --out o
