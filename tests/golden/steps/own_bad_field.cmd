explain @steps_own --pass steps --md --steps-from $(echo '{"decode": "x %q"}' >own.json; echo own.json)
