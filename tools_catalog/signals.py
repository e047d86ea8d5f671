"""What floors above may listen to. The catalogue does not know who they are."""

from django.dispatch import Signal

tools_published = Signal()
"""A server's items were taken in (`server_id`), changed or not, inside the transaction that does it."""
