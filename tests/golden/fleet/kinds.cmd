fleet @kinds_before @kinds_after --md
