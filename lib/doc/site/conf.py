# Configures Sphinx for the pages that build.py writes to build/docs/source.
project = "Tegula"
extensions = ["myst_parser"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4
html_theme = "furo"
html_title = "Tegula"
html_show_copyright = False
html_copy_source = False
html_show_sourcelink = False
html_static_path = ["static"]
html_css_files = ["tegula.css"]
templates_path = []
pygments_style = "friendly"
pygments_dark_style = "monokai"
highlight_language = "none"
suppress_warnings = ["misc.highlighting_failure"]
