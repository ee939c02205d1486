diff @kinds_before @kinds_fused --out o
