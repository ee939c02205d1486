explain @ties --pass critical_path --md
