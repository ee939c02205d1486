explain @steps_drafts --pass steps --md
