"""What tokens hide and from whom: attacks on a trained run of the hashcomb codec."""
