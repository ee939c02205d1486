diff @steps_own @steps_own --md --steps-from $(echo '{"counted": "worker %n: ctx=%p/%P gen=%d*"}' >own.json; echo own.json)
