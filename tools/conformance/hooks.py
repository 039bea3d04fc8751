"""What a schema cannot say: limits in bytes. Requests that JSON Schema takes for right and whose limit is one of bytes are left out."""

import schemathesis


def slugs(value):
    """Every slug of a body."""
    if isinstance(value, dict):
        for name, part in value.items():
            if name == "slug" and isinstance(part, str):
                yield part
            else:
                yield from slugs(part)
    elif isinstance(value, list):
        for part in value:
            yield from slugs(part)


@schemathesis.hook
def filter_body(context, body):
    # What is no JSON is a request like any other.
    if not isinstance(body, (dict, list)):
        return True
    return all(len(slug.encode("utf-8", "surrogatepass")) <= 100 for slug in slugs(body))
