"""Data sets and sessions, what they release, and what is said about each release."""
