ask @steps_drafts steps prefill
