"""A link farm: pages that link to each other under ever new session ids."""

from html import escape

from examples.rendering.content import Farm
from examples.rendering.prose import Prose, digest, paragraphs
from examples.rendering.recording import PageKind, Recording


def record(farm: Farm, prose: Prose) -> Recording:
    """Return the recorded link farm; the server ignores the parameter ``ref``, so that its addresses are endless."""
    out = Recording(farm.host, "unknown", "link farm", {"ignore_params": ["ref"]})
    for name in ("", *farm.products):
        path = f"/{name}.html" if name else "/"
        out.page(path, _page(farm, name or "start", prose), PageKind("other", "advertising"))
    out.robots("User-agent: *", "Disallow:")
    return out


def _page(farm: Farm, name: str, prose: Prose) -> str:
    links = "\n".join(_link(farm, name, place) for place in range(farm.links_a_page))
    words = name.replace("-", " ")
    return f"""<html>
<head><title>{escape(words)} - {escape(farm.name)}</title>
<meta name="keywords" content="{escape(", ".join(farm.products))}"></head>
<body bgcolor="#ffff88"><h1>{escape(words.upper())}!!!</h1>
{paragraphs(prose.compose(None, ("spam",), 4, name))}
<div>{links}</div>
</body></html>
"""


def _link(farm: Farm, name: str, place: int) -> str:
    key = digest(farm.host, name, place)
    product = farm.products[key % len(farm.products)]
    return f'<a href="/{product}.html?ref={key % 100_000_000:08d}">best {escape(product.replace("-", " "))}</a>'
