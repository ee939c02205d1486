digest @launch_bound --rank-regex rank -o d.nsxd
