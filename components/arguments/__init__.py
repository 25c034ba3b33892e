"""The config's own words as arguments of components, one module per module of the config; all but this file is generated."""
