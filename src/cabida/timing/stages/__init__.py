"""Everything that isn't a language model answering: images, clips, speech, embedders, search, pipelines."""
