explain @second_loop
