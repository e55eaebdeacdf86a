"""A small SVG writer; filled by the ground floor."""
