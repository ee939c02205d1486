explain @steps_own --pass steps --md --steps-from $(echo '{"generate": "x %d"}' >own.json; echo own.json)
