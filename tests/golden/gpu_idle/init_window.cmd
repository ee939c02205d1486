explain @load_pause --pass gpu_idle --md --window nvtx:init
