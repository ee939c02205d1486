explain @labels_renamed --pass dimensions --md
