"""Recorded timings for selectors, and live runs of selection by measurement."""
