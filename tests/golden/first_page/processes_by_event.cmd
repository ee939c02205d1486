explain @processes_by_event --out o
