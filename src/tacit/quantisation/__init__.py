"""Ranges divided into channels, as features, codecs and the negotiation use them."""
