diff @steps_numbered @steps_numbered --unit 'nvtx:step #' --md
