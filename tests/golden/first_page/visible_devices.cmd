explain @visible_devices
