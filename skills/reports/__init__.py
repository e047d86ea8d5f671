"""What curators look at: reads over truth and index together. Nothing here writes."""
