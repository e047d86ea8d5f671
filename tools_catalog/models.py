from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import F, Q
from django.utils import timezone
from pgvector.django import VectorField

from core.jsonfield import OrderedJSONField
from tenants.models import Tenant
from tools_catalog.types import accepted_at_first

SERVER_NAME = r"^[A-Za-z0-9][A-Za-z0-9_.-]*$"


class Review(models.TextChoices):
    ACCEPTED = "accepted"
    HELD = "held"
    REJECTED = "rejected"


class Server(models.Model):
    """An MCP server whose tools are in the catalogue, and how to reach it. Secrets are references, never values."""

    class Transport(models.TextChoices):
        NONE = "", "none: imported, cannot be reached"
        STDIO = "stdio", "stdio: a command on this machine"
        HTTP = "http", "http: streamable HTTP"
        SSE = "sse", "sse: HTTP with server-sent events (older servers)"

    class Source(models.TextChoices):
        FILE = "file", ".toolscript.json"
        ADMIN = "admin", "admin"
        IMPORT = "import", "import"

    tenant = models.ForeignKey(Tenant, models.CASCADE, null=True, blank=True)
    name = models.CharField(max_length=128)
    title = models.CharField(max_length=255, blank=True)
    description = models.TextField(blank=True)
    is_active = models.BooleanField(default=True)
    """A curator's switch: nothing else ever changes it."""
    accepted_at = models.DateTimeField(null=True, blank=True, default=accepted_at_first, editable=False)
    """None: what this server publishes is held until a person accepts the server."""
    accepted_by = models.CharField(max_length=255, blank=True, editable=False)
    source = models.CharField(max_length=16, choices=Source, default=Source.IMPORT)
    config_path = models.TextField(blank=True, editable=False)
    removed_at = models.DateTimeField(null=True, blank=True, editable=False)
    """Since when it is gone from the file it came from. It is not served then, and comes back with the file."""

    transport = models.CharField(max_length=16, choices=Transport, blank=True, default=Transport.NONE)
    command = models.TextField(blank=True)
    args = ArrayField(models.TextField(blank=True), default=list, blank=True)
    env = OrderedJSONField(default=dict, blank=True)
    cwd = models.TextField(blank=True)
    url = models.TextField(blank=True)
    headers = OrderedJSONField(default=dict, blank=True)
    include_tools = ArrayField(models.TextField(), default=list, blank=True)
    exclude_tools = ArrayField(models.TextField(), default=list, blank=True)
    timeout_seconds = models.FloatField(null=True, blank=True)

    synced_at = models.DateTimeField(null=True, blank=True, editable=False)
    """The last sync that succeeded."""
    failed_at = models.DateTimeField(null=True, blank=True, editable=False)
    failures = models.PositiveIntegerField(default=0, editable=False)
    """Failed syncs since the last one that succeeded. More than none: its tools are stale."""
    last_error = models.TextField(blank=True, editable=False)
    retry_at = models.DateTimeField(null=True, blank=True, editable=False)
    """A failing server is left alone by the schedule until then."""
    due_at = models.DateTimeField(null=True, blank=True, editable=False)
    due_trigger = models.CharField(max_length=16, blank=True, editable=False)
    """A sync was asked for. Kept here and not only in a message, so that no crash loses it."""
    protocol = models.CharField(max_length=32, blank=True, editable=False)
    announces = models.BooleanField(default=False, editable=False)
    """Whether it says so when its lists change; such a server is listened to."""

    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(fields=["tenant", "name"], nulls_distinct=False, name="server_name_unique"),
            models.CheckConstraint(condition=Q(name__regex=SERVER_NAME), name="server_name_form"),
            models.CheckConstraint(
                condition=Q(transport="", command="", url="")
                | (Q(transport="stdio", url="") & ~Q(command=""))
                | (Q(transport__in=["http", "sse"], command="") & ~Q(url="")),
                name="server_transport_complete",
            ),
            models.CheckConstraint(condition=Q(source__in=["file", "admin", "import"]), name="server_source_known"),
        ]
        indexes = [models.Index(fields=["due_at"], condition=Q(due_at__isnull=False), name="server_due")]

    def __str__(self) -> str:
        return self.title or self.name

    @property
    def is_stale(self) -> bool:
        return self.failures > 0


class Tool(models.Model):
    """A tool, prompt or resource as its server publishes it."""

    class Type(models.TextChoices):
        TOOL = "tool"
        PROMPT = "prompt"
        RESOURCE = "resource"

    server = models.ForeignKey(Server, models.CASCADE, related_name="tools")
    type = models.CharField(max_length=16, choices=Type, default=Type.TOOL)
    name = models.CharField(max_length=255)
    description = models.TextField(blank=True)
    uri = models.TextField(blank=True)
    input_schema = OrderedJSONField(null=True, blank=True)
    output_schema = OrderedJSONField(null=True, blank=True)
    annotations = OrderedJSONField(null=True, blank=True)
    requests = ArrayField(models.TextField(), default=list, blank=True)
    content_hash = models.CharField(max_length=64)
    """Of the definition as published: the same hash means that nothing changed."""
    index_key = models.CharField(max_length=64)
    """Of what the vector is made from: a vector with another key is stale."""
    review = models.CharField(max_length=16, choices=Review, default=Review.ACCEPTED)
    """Of the definition as it is now. Only an accepted one is served."""
    is_active = models.BooleanField(default=True)
    """A curator's switch: no sync ever changes it."""
    missing_since = models.DateTimeField(null=True, blank=True)
    """Since when its server publishes it no more. It is not served then, and comes back with its assignments."""
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["name", "id"]
        constraints = [
            models.UniqueConstraint(fields=["server", "type", "name"], name="tool_name_unique"),
            models.CheckConstraint(condition=Q(type__in=["tool", "prompt", "resource"]), name="tool_type_known"),
            models.CheckConstraint(condition=~Q(name=""), name="tool_name_present"),
            models.CheckConstraint(condition=Q(review__in=Review.values), name="tool_review_known"),
        ]
        indexes = [models.Index(fields=["review"], condition=~Q(review="accepted"), name="tool_to_review")]

    def __str__(self) -> str:
        return self.name


class ConfigFile(models.Model):
    """A file that servers are configured in, as it was when it was last read."""

    path = models.TextField(unique=True)
    exists = models.BooleanField(default=True)
    servers = models.PositiveIntegerField(default=0)
    error = models.TextField(blank=True)
    """Why the last reading changed nothing."""
    read_at = models.DateTimeField()

    class Meta:
        ordering = ["path"]

    def __str__(self) -> str:
        return self.path


class SyncRun(models.Model):
    """One attempt to bring a server's tools up to date."""

    class Trigger(models.TextChoices):
        START = "start", "start of the service"
        SCHEDULE = "schedule", "schedule"
        MANUAL = "manual", "admin"
        COMMAND = "command", "command line"
        CHANGE = "change", "announced by the server"
        RESUME = "resume", "after an interruption"
        IMPORT = "import", "import"

    class State(models.TextChoices):
        RUNNING = "running"
        DONE = "done"
        FAILED = "failed"
        INTERRUPTED = "interrupted"

    server = models.ForeignKey(Server, models.CASCADE, related_name="runs")
    trigger = models.CharField(max_length=16, choices=Trigger)
    state = models.CharField(max_length=16, choices=State, default=State.RUNNING)
    stage = models.CharField(max_length=64, blank=True)
    """What a running sync is doing now."""
    started_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    seen = models.PositiveIntegerField(default=0)
    created = models.PositiveIntegerField(default=0)
    changed = models.PositiveIntegerField(default=0)
    unchanged = models.PositiveIntegerField(default=0)
    missing = models.PositiveIntegerField(default=0)
    returned = models.PositiveIntegerField(default=0)
    refused = models.PositiveIntegerField(default=0)
    refusals = OrderedJSONField(default=list, blank=True)
    """What was kept out: type, name and reason of each."""
    error = models.TextField(blank=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=["running", "done", "failed", "interrupted"]), name="sync_run_state_known"
            ),
            models.UniqueConstraint(fields=["server"], condition=Q(state="running"), name="sync_run_one_at_a_time"),
        ]

    def __str__(self) -> str:
        return f"{self.server_id} {self.started_at:%Y-%m-%d %H:%M:%S}"


class EmbeddingSpace(models.Model):
    """One embedding model, as it was when vectors were made with it. Vectors of two spaces are never compared."""

    model = models.CharField(max_length=255)
    fingerprint = models.CharField(max_length=64)
    dim = models.PositiveIntegerField()
    is_live = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)
    live_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["model", "fingerprint"], name="space_unique"),
            models.UniqueConstraint(fields=["is_live"], condition=Q(is_live=True), name="space_one_live"),
            models.CheckConstraint(condition=Q(dim__gt=0), name="space_dim_positive"),
        ]

    def __str__(self) -> str:
        return f"{self.model} ({self.dim})"


class ToolEmbedding(models.Model):
    """The parts a tool's searchable vector is blended from, each kept so that each can change alone."""

    class Part(models.TextChoices):
        TEXT = "text"
        REQUESTS = "requests"

    tool = models.ForeignKey(Tool, models.CASCADE, related_name="embeddings")
    space = models.ForeignKey(EmbeddingSpace, models.CASCADE)
    part = models.CharField(max_length=16, choices=Part)
    key = models.CharField(max_length=64)
    vector = VectorField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["space", "tool", "part"], name="tool_embedding_unique"),
            models.CheckConstraint(condition=Q(part__in=["text", "requests"]), name="tool_embedding_part_known"),
        ]

    def __str__(self) -> str:
        return f"{self.tool_id} {self.part}"


class ToolVector(models.Model):
    """The index of tools: narrow, so that a vector stays in its row. Can be thrown away and rebuilt."""

    seen_through = "mcp_unified_search_seen"

    tool = models.ForeignKey(Tool, models.CASCADE, related_name="vectors")
    space = models.ForeignKey(EmbeddingSpace, models.CASCADE)
    server_id = models.BigIntegerField()
    tenant_id = models.BigIntegerField(null=True)
    type = models.CharField(max_length=16)
    is_active = models.BooleanField()
    skill_ids = ArrayField(models.CharField(max_length=64), default=list)
    primary_skill_id = models.CharField(max_length=64, null=True)  # noqa: DJ001 - null is "none" in the API too
    key = models.CharField(max_length=64)
    vector = VectorField()

    class Meta:
        db_table = "mcp_unified_search"
        constraints = [
            models.UniqueConstraint(fields=["space", "tool"], name="tool_vector_unique"),
            models.CheckConstraint(
                condition=Q(primary_skill_id=None) | Q(skill_ids__contains=[F("primary_skill_id")]),
                name="tool_vector_primary_is_member",
            ),
        ]
        # Without fastupdate: a search would have to read the whole list of entries that wait to be sorted in.
        indexes = [GinIndex(fields=["skill_ids"], name="tool_vector_skill_ids", fastupdate=False)]

    def __str__(self) -> str:
        return str(self.tool_id)


class ToolDefinition(models.Model):
    """One definition that a tool has or had. They are kept, so that a change can be compared and a decision traced."""

    tool = models.ForeignKey(Tool, models.CASCADE, related_name="definitions")
    content_hash = models.CharField(max_length=64)
    description = models.TextField(blank=True)
    uri = models.TextField(blank=True)
    input_schema = OrderedJSONField(null=True, blank=True)
    output_schema = OrderedJSONField(null=True, blank=True)
    annotations = OrderedJSONField(null=True, blank=True)
    review = models.CharField(max_length=16, choices=Review)
    seen_at = models.DateTimeField(auto_now_add=True)
    published_at = models.DateTimeField(default=timezone.now)
    """When it last became the one that the server publishes; an old one can come back."""
    decided_at = models.DateTimeField(null=True, blank=True)
    decided_by = models.CharField(max_length=255, blank=True)
    """Empty: nobody was asked."""

    class Meta:
        ordering = ["-published_at", "-id"]
        constraints = [
            models.UniqueConstraint(fields=["tool", "content_hash"], name="tool_definition_unique"),
            models.CheckConstraint(condition=Q(review__in=Review.values), name="tool_definition_review_known"),
        ]

    def __str__(self) -> str:
        return f"{self.tool_id} {self.content_hash[:12]}"


class ToolCall(models.Model):
    """One call through the gateway. Written before the call is sent, so that a crash leaves a trace of it."""

    without_tenant = "hidden"

    class Outcome(models.TextChoices):
        RUNNING = "running", "running, or cut off"
        OK = "ok", "answered"
        TOOL_ERROR = "tool_error", "the tool reported an error"
        REFUSED = "refused", "refused, not sent"
        FAILED = "failed", "the server failed"
        TIMED_OUT = "timed_out", "no answer in time"

    tenant = models.ForeignKey(Tenant, models.SET_NULL, null=True, blank=True)
    caller = models.CharField(max_length=255)
    tool = models.ForeignKey(Tool, models.SET_NULL, null=True, blank=True, related_name="calls")
    target = models.CharField(max_length=400)
    """What was asked for, by name: it outlives the tool."""
    request_id = models.CharField(max_length=128, blank=True)
    arguments = OrderedJSONField(null=True, blank=True)
    started_at = models.DateTimeField(default=timezone.now, db_index=True)
    duration_ms = models.FloatField(null=True, blank=True)
    outcome = models.CharField(max_length=16, choices=Outcome, default=Outcome.RUNNING)
    error_code = models.CharField(max_length=32, blank=True)
    error = models.TextField(blank=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(outcome__in=["running", "ok", "tool_error", "refused", "failed", "timed_out"]),
                name="tool_call_outcome_known",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.target} by {self.caller}"
