explain @after_session --out o
