diff --calibrate @diff_before @diff_slower @diff_template -o noise.json
