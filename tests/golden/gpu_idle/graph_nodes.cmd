explain @graph_call_lasts --pass gpu_idle --md
