explain @copy_bound --pass critical_path,copies,findings --md
