diff @diff_products @diff_products_slow --md
