"""How results look: formats of quantities, tables, plots, Markdown, and the HTML page that holds them."""
