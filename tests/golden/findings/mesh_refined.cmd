explain @mesh_refined --pass findings --md
