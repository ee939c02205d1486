explain @iterations_nvtx --pass nvtx_phases,nvtx_kernel_phases --md --phase-map $(echo '{"backward": "BACK", "step": ["re:^st.p$"], "never": []}' >map.json; echo map.json)
