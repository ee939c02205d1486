ask @backward_by_other thread autograd
