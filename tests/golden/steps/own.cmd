explain @steps_own --pass steps --md --steps-from $(echo '{"counted": "worker %n: ctx=%p/%P gen=%d*"}' >own.json; echo own.json)
