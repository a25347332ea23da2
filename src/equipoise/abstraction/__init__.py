"""Card abstraction: features of hands, clustering, bucket maps, and reports."""
