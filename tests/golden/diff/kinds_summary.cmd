diff @kinds_before @kinds_after --out o
