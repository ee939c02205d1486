explain @stages_send_loss --pass findings --md
