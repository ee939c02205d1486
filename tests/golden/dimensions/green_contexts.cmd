explain @green_contexts --pass dimensions --md
