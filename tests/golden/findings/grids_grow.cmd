explain @grids_grow --pass findings --md
