diff @iterations_nvtx @iterations_nvtx --unit nvtx:step --steps 2..5 --md
