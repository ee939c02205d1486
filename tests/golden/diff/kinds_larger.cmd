diff @kinds_before @kinds_larger --md
