explain @ranges_by_uuid --pass nvtx --md
