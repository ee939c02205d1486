verify @diff_pauses_often @diff_pause_once
