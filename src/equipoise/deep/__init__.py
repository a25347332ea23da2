"""Networks that learn regrets (Deep CFR and SD-CFR). The only importer of torch."""
