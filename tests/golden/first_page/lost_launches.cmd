explain @lost_launches
