"""Arrays rearranged, cut, joined, broadcast and made."""
