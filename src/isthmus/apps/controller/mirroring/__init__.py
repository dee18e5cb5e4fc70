"""From what is known of this cluster and of its targets to the mirrors, and to what Links say."""
