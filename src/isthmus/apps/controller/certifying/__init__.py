"""The cluster's certificate authority: signs, renews, and notes who trusts whom."""
