diff --calibrate @diff_before @diff_template @iterations_sequence -o noise.json
