diff @kinds_before @kinds_after --md
