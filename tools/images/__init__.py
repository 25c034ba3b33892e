"""Container images without a registry: a Debian root, the engine environment as a layer, imported into containerd once.

What is kept between runs lies under ``<home>/images/``: ``debian-*`` (debootstrap), ``root-*`` (with Python and the user), ``store-*``
(a whole containerd root that holds the unpacked images; a node takes it over by hard links).
"""
