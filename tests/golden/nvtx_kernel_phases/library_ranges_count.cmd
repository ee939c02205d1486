explain @nvtx_domains --pass nvtx_phases,nvtx_kernel_phases --md --phase-map $(echo '{"comm": "nccl", "mm": "re:aten::mm$"}' >map.json; echo map.json)
