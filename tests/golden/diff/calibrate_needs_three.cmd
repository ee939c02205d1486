diff --calibrate @diff_before @diff_slower -o noise.json
