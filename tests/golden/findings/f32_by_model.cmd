explain @f32_by_model --pass findings --md --model $(echo '{"parameters": 10240000, "dtype": "tf32", "tokens": 1000}' >model.json; echo model.json)
