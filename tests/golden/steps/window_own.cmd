explain @steps_own --pass partition --md --window step:decode --steps-from $(echo '{"counted": "worker %n: ctx=%p/%P gen=%d*"}' >own.json; echo own.json)
