"""Posts in the markups that applications take."""

from html import escape

from benchmarks.software.content import Block, Post


def markdown(post: Post, files: str = "/files/") -> str:
    """Return a post in Markdown; ``files`` is the address below which attached files are."""
    return "\n\n".join(_markdown(block, files) for block in post.blocks) + "\n"


def _markdown(block: Block, files: str) -> str:
    lines = block.text.splitlines()
    match block.kind:
        case "quote":
            return f"{block.by} wrote:\n\n" + "\n".join(f"> {line}" for line in lines)
        case "items":
            return "\n".join(f"* {line}" for line in lines)
        case "code":
            return "\n".join(("```", *lines, "```"))
        case "file":
            return f"[{block.text}]({files}{block.text})"
        case _:
            return block.text


def html(post: Post, files: str = "/files/") -> str:
    """Return a post in HTML; ``files`` is the address below which attached files are."""
    return "\n".join(_html(block, files) for block in post.blocks)


def _html(block: Block, files: str) -> str:
    text = escape(block.text)
    match block.kind:
        case "quote":
            return f"<p>{escape(block.by)} wrote:</p><blockquote><p>{text}</p></blockquote>"
        case "items":
            return "<ul>" + "".join(f"<li>{line}</li>" for line in text.splitlines()) + "</ul>"
        case "code":
            return f"<pre>{text}</pre>"
        case "file":
            return f'<p><a href="{escape(files)}{text}">{text}</a></p>'
        case _:
            return f"<p>{text}</p>"


def lines(post: Post) -> str:
    """Return a post as people write where there is no markup."""
    return "\n\n".join(map(_lines, post.blocks)) + "\n"


def _lines(block: Block) -> str:
    match block.kind:
        case "quote":
            return f"{block.by} wrote:\n" + "\n".join(f"> {line}" for line in block.text.splitlines())
        case "items":
            return "\n".join(f"- {line}" for line in block.text.splitlines())
        case _:
            return block.text
