"""The tensors of one rank, by shape: decoder, towers, encoders, recurrent layers, drafts."""
