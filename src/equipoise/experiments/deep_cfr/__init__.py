"""Figures of Deep CFR for HUNL (Chitsazan and others 2020), and claims about Deep CFR on Leduc hold'em."""
