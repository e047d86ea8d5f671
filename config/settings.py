"""All settings. Each is read from the environment here and described in docs/configuration.md."""

from pathlib import Path

import dj_database_url

from config import env
from config.navigation import NAVIGATION, without_scripts
from config.postgres import EmbeddedPostgres
from config.secret import kept_secret
from core.logs import configure as configure_logs
from embeddings.devices import DEVICES
from embeddings.types import EmbeddingOptions
from llm.types import ChatOptions
from tenants.plans import plans_from
from tenants.types import TokenOptions

BASE_DIR = Path(__file__).resolve().parent.parent

# For `toolscript config`, which shows them.
SETTINGS_DECLARED = env.DECLARED
SETTING_PROBLEMS = env.PROBLEMS

# --- Where things are -------------------------------------------------------------------------------------
DATA_DIR = env.folder("TOOLSCRIPT_DATA_DIR", "~/.toolscript")
PORT = env.integer("PORT", 8000, 1, 65535)
HOST = env.text("TOOLSCRIPT_HOST", "127.0.0.1")
DATABASE_URL = env.text("DATABASE_URL")
REDIS_URL = env.text("REDIS_URL")
DEMO = env.flag("TOOLSCRIPT_DEMO", default=True)
# Read by the `toolscript` command without Django (cli/settings.py); declared here so that they are described and shown.
GATEWAY_URL = env.text("TOOLSCRIPT_GATEWAY_URL")

# --- Safety -----------------------------------------------------------------------------------------------
PRODUCTION = env.flag("TOOLSCRIPT_PRODUCTION", default=False)
DEBUG = False
ALLOWED_HOSTS = env.words("TOOLSCRIPT_ALLOWED_HOSTS", ("localhost", "127.0.0.1", "[::1]"))
CSRF_TRUSTED_ORIGINS = env.words("TOOLSCRIPT_TRUSTED_ORIGINS", ())
ADMIN_PASSWORD = env.text("TOOLSCRIPT_ADMIN_PASSWORD")
CSRF_FAILURE_VIEW = "core.handlers.csrf_failure"
SECURE_CONTENT_TYPE_NOSNIFF = True
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = PRODUCTION
X_FRAME_OPTIONS = "DENY"


def _secret_key() -> str:
    """Given, or made once and kept in the data folder. Production must give it, so that all machines share it."""
    given = env.text("TOOLSCRIPT_SECRET_KEY")
    if given:
        return given
    if PRODUCTION:
        raise env.SettingError("toolscript: TOOLSCRIPT_SECRET_KEY must be set when TOOLSCRIPT_PRODUCTION is true")
    return kept_secret(DATA_DIR / "secret_key")


SECRET_KEY = _secret_key()

# --- Access -----------------------------------------------------------------------------------------------
ANONYMOUS = env.flag("TOOLSCRIPT_ANONYMOUS", default=not PRODUCTION)
ANONYMOUS_PER_MINUTE = env.integer("TOOLSCRIPT_ANONYMOUS_PER_MINUTE", 600, 0, 1_000_000)
CALLER_PER_MINUTE = env.integer("TOOLSCRIPT_CALLER_PER_MINUTE", 0, 0, 1_000_000)
API_KEY = env.text("TOOLSCRIPT_API_KEY")
LOCAL_KEY_FILE = "api_key"
DEBUG_BYPASS_AUTH = env.flag("TOOLSCRIPT_DEBUG_BYPASS_AUTH", default=False)
TOKENS = TokenOptions(
    secret=env.text("TOOLSCRIPT_JWT_SECRET"),
    jwks_url=env.text("TOOLSCRIPT_JWT_JWKS_URL"),
    audience=env.text("TOOLSCRIPT_JWT_AUDIENCE", "toolscript"),
    issuer=env.text("TOOLSCRIPT_JWT_ISSUER"),
    leeway=env.seconds("TOOLSCRIPT_JWT_LEEWAY", 30, 0, 600),
    jwks_timeout=env.seconds("TOOLSCRIPT_JWT_JWKS_TIMEOUT", 3, 0.1, 60),
    jwks_seconds=env.seconds("TOOLSCRIPT_JWT_JWKS_SECONDS", 300, 1, 86_400),
)
if DEBUG_BYPASS_AUTH and PRODUCTION:
    raise env.SettingError("toolscript: TOOLSCRIPT_DEBUG_BYPASS_AUTH cannot be true when TOOLSCRIPT_PRODUCTION is true")
if TOKENS.secret and len(TOKENS.secret) < 32:
    raise env.SettingError("toolscript: TOOLSCRIPT_JWT_SECRET must have at least 32 characters")
if TOKENS.jwks_url and not TOKENS.jwks_url.startswith(("https://", "http://")):
    raise env.SettingError("toolscript: TOOLSCRIPT_JWT_JWKS_URL must start with https://")

# --- Database ---------------------------------------------------------------------------------------------
EMBEDDED_POSTGRES = None if DATABASE_URL else EmbeddedPostgres(DATA_DIR)


def _database() -> dict[str, object]:
    common: dict[str, object] = {
        "ENGINE": "django.db.backends.postgresql",
        "CONN_MAX_AGE": None,
        "CONN_HEALTH_CHECKS": True,
    }
    if EMBEDDED_POSTGRES is not None:
        return {**EMBEDDED_POSTGRES.settings(), **common, "OPTIONS": {"connect_timeout": 2}}
    try:
        parsed = dict(dj_database_url.parse(DATABASE_URL))
    except ValueError as exc:
        raise env.SettingError(f"toolscript: DATABASE_URL is not valid: {exc}") from None
    if "postgres" not in str(parsed.get("ENGINE")):
        raise env.SettingError("toolscript: DATABASE_URL must start with postgresql://")
    options = {"connect_timeout": 2, **dict(parsed.get("OPTIONS") or {})}  # type: ignore[call-overload]
    return {**parsed, **common, "OPTIONS": options}


DATABASES = {"default": _database()}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# --- Tasks ------------------------------------------------------------------------------------------------
BROKER_DIR = DATA_DIR / "broker"
if not REDIS_URL:
    for _name in ("messages", "control"):
        (BROKER_DIR / _name).mkdir(parents=True, exist_ok=True)
CELERY_BROKER_URL = REDIS_URL or "folder://localhost"
CELERY_BROKER_TRANSPORT_OPTIONS: dict[str, object] = (
    {"visibility_timeout": 3600}
    if REDIS_URL
    else {
        "data_folder_in": str(BROKER_DIR / "messages"),
        "data_folder_out": str(BROKER_DIR / "messages"),
        "control_folder": str(BROKER_DIR / "control"),
        "polling_interval": 0.1,
    }
)
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_TIME_LIMIT = 3600
CELERY_TASK_SOFT_TIME_LIMIT = 3500
CELERY_TASK_ACKS_LATE = bool(REDIS_URL)
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_TIMEZONE = "UTC"
CELERY_BEAT_SCHEDULER = "django_celery_beat.schedulers:DatabaseScheduler"
CELERY_BEAT_SCHEDULE = {
    "forget old calls": {"task": "tools_catalog.tasks.forget_old_calls", "schedule": 3600.0},
    "refresh the search index": {"task": "tools_catalog.tasks.refresh_index", "schedule": 60.0},
    "start syncs that are due": {"task": "tools_catalog.tasks.sync_start_due", "schedule": 60.0},
    "classify new tools": {"task": "skills.tasks.classify_pending", "schedule": 60.0},
}

# --- Embeddings -------------------------------------------------------------------------------------------
SEARCH_MODEL = env.text("TOOLSCRIPT_SEARCH_MODEL")
TOOLSCRIPT_EMBEDDING_MODEL = env.text("TOOLSCRIPT_EMBEDDING_MODEL") or SEARCH_MODEL
EMBEDDING_OPTIONS = EmbeddingOptions(
    models_dir=DATA_DIR / "models",
    threads=env.integer("TOOLSCRIPT_EMBEDDING_THREADS", 1, 1, 64),
    timeout=env.seconds("TOOLSCRIPT_EMBEDDING_TIMEOUT", 5.0, 0.05, 60),
    openai_base_url=env.text("OPENAI_BASE_URL"),
    openai_api_key=env.text("OPENAI_API_KEY"),
    device=env.choice("TOOLSCRIPT_SEARCH_DEVICE", "auto", DEVICES),
)
EMBEDDING_CACHE_DIR = (
    None if env.flag("TOOLSCRIPT_SEARCH_NO_CACHE", default=False) else DATA_DIR / "cache" / "embeddings"
)
QUERY_CACHE_SIZE = env.integer("TOOLSCRIPT_QUERY_CACHE_SIZE", 2000, 0, 1_000_000)
# Asked for after each refresh of the index: what is new in it can be classified.
AFTER_REFRESH_TASKS = ["skills.tasks.classify_pending"]
# What must be built before another embedding model may go live, in this order.
INDEX_BUILDERS = [
    "tools_catalog.services.tool_index",
    "skills.services.skill_index",
    "knowledge.services.knowledge_index",
]

# --- MCP servers ------------------------------------------------------------------------------------------
CONFIG_FILES = env.words("TOOLSCRIPT_CONFIG", ())
SYNC_TIMEOUT = env.seconds("TOOLSCRIPT_SYNC_TIMEOUT", 30.0, 1, 600)
SYNC_JITTER = env.seconds("TOOLSCRIPT_SYNC_JITTER", 60.0, 0, 600)
SYNC_BACKOFF = env.seconds("TOOLSCRIPT_SYNC_BACKOFF", 900.0, 1, 86_400)
SYNC_RUNS_KEPT = env.integer("TOOLSCRIPT_SYNC_RUNS_KEPT", 200, 1, 100_000)
LISTEN_LIMIT = env.integer("TOOLSCRIPT_LISTEN_LIMIT", 20, 0, 1000)
# --- Classification ---------------------------------------------------------------------------------------
CLASSIFIER = env.choice("TOOLSCRIPT_CLASSIFIER", "auto", ("auto", "llm", "nearest"))
CHAT_MODEL = env.text("TOOLSCRIPT_LLM_MODEL")
if CLASSIFIER == "llm" and not CHAT_MODEL:
    raise env.SettingError("toolscript: TOOLSCRIPT_CLASSIFIER=llm needs TOOLSCRIPT_LLM_MODEL")
CHAT_OPTIONS = ChatOptions(
    base_url=EMBEDDING_OPTIONS.openai_base_url,
    api_key=EMBEDDING_OPTIONS.openai_api_key,
    timeout=env.seconds("TOOLSCRIPT_LLM_TIMEOUT", 30.0, 0.1, 600),
    concurrency=env.integer("TOOLSCRIPT_LLM_CONCURRENCY", 4, 1, 64),
    per_minute=env.integer("TOOLSCRIPT_LLM_PER_MINUTE", 0, 0, 100_000),
    max_tokens=env.integer("TOOLSCRIPT_LLM_MAX_TOKENS", 1000, 50, 100_000),
)
# US dollars (or any other currency) for a million tokens in and out; runs then show what they cost.
CHAT_PRICES = (
    env.decimal("TOOLSCRIPT_LLM_PRICE_IN", 0.0, 0, 10_000),
    env.decimal("TOOLSCRIPT_LLM_PRICE_OUT", 0.0, 0, 10_000),
)
CLASSIFY_BATCH = env.integer("TOOLSCRIPT_CLASSIFY_BATCH", 16, 1, 500)
CLASSIFY_LEASE = env.seconds("TOOLSCRIPT_CLASSIFY_LEASE", 300.0, 1, 86_400)
SUGGESTION_AUTO_APPROVE = env.integer("TOOLSCRIPT_SUGGESTION_AUTO_APPROVE", 0, 0, 10_000)

# --- Search -----------------------------------------------------------------------------------------------
# The three that become Postgres time-outs are equal, so that no statement has to set another one first.
SEARCH_TIMEOUTS = {
    "request": env.seconds("TOOLSCRIPT_REQUEST_TIMEOUT", 9.0, 0.1, 60),
    "embedding": EMBEDDING_OPTIONS.timeout,
    "skills": env.seconds("TOOLSCRIPT_SKILL_TIMEOUT", 2.0, 0.01, 60),
    "tools": env.seconds("TOOLSCRIPT_TOOL_TIMEOUT", 2.0, 0.01, 60),
    "schemas": env.seconds("TOOLSCRIPT_SCHEMA_TIMEOUT", 2.0, 0.01, 60),
    "lexical": env.seconds("TOOLSCRIPT_LEXICAL_TIMEOUT", 2.0, 0.01, 60),
}
SEARCH_LIMIT = env.integer("TOOLSCRIPT_SEARCH_LIMIT", 3, 1, 50)
SEARCH_THRESHOLD = env.share("TOOLSCRIPT_SEARCH_THRESHOLD", 0.35)
SEARCH_ALPHA = env.share("TOOLSCRIPT_SEARCH_ALPHA", 0.7)
SKILL_CACHE_SECONDS = env.seconds("TOOLSCRIPT_SKILL_CACHE_SECONDS", 0.5, 0, 60)

# --- Gateway and review -----------------------------------------------------------------------------------
GATEWAY_TIMEOUT = env.seconds("TOOLSCRIPT_CALL_TIMEOUT", 60.0, 0.1, 3600)
GATEWAY_CONNECT_TIMEOUT = env.seconds("TOOLSCRIPT_CALL_CONNECT_TIMEOUT", 20.0, 0.1, 600)
GATEWAY_SESSIONS = env.integer("TOOLSCRIPT_CALL_SESSIONS", 32, 1, 10_000)
GATEWAY_IDLE = env.seconds("TOOLSCRIPT_CALL_IDLE", 300.0, 1, 86_400)
CONFIRM_DESTRUCTIVE = env.flag("TOOLSCRIPT_CONFIRM_DESTRUCTIVE", default=False)
CALL_LOG_ARGUMENTS = env.flag("TOOLSCRIPT_CALL_LOG_ARGUMENTS", default=False)
CALL_LOG_DAYS = env.integer("TOOLSCRIPT_CALL_LOG_DAYS", 90, 1, 36_500)
REVIEW_CHANGES = env.flag("TOOLSCRIPT_REVIEW_CHANGES", default=False)
REVIEW_NEW_SERVERS = env.flag("TOOLSCRIPT_REVIEW_NEW_SERVERS", default=False)
# --- Knowledge --------------------------------------------------------------------------------------------
CHUNK_TOKENS = env.integer("TOOLSCRIPT_CHUNK_TOKENS", 200, 32, 8192)
CHUNK_OVERLAP = env.integer("TOOLSCRIPT_CHUNK_OVERLAP", 30, 0, 4096)
if CHUNK_OVERLAP >= CHUNK_TOKENS:
    raise env.SettingError("toolscript: TOOLSCRIPT_CHUNK_OVERLAP must be less than TOOLSCRIPT_CHUNK_TOKENS")
MAX_DOCUMENT_BYTES = env.integer("TOOLSCRIPT_MAX_DOCUMENT_BYTES", 33_554_432, 1024, 1_073_741_824)

# --- Plans ------------------------------------------------------------------------------------------------
try:
    PLANS = plans_from(env.text("TOOLSCRIPT_PLANS"))
except ValueError as exc:
    raise env.SettingError(f"toolscript: TOOLSCRIPT_PLANS is not valid: {exc}") from None
TRUSTED_PROXIES = env.integer("TOOLSCRIPT_TRUSTED_PROXIES", 0, 0, 10)

# --- Web --------------------------------------------------------------------------------------------------
TOOLSCRIPT_MAX_BODY_BYTES = env.integer("TOOLSCRIPT_MAX_BODY_BYTES", 1_048_576, 1024, 1_073_741_824)
# A document in base64 is a third larger than it is.
LARGE_BODIES = {
    "/api/v1/knowledge/sources": MAX_DOCUMENT_BYTES * 4 // 3 + 65_536,
    "/api/v1/import": max(33_554_432, TOOLSCRIPT_MAX_BODY_BYTES),
}
WEB_WORKERS = env.integer("TOOLSCRIPT_WEB_WORKERS", 2, 1, 64)
WEB_THREADS = env.integer("TOOLSCRIPT_WEB_THREADS", 4, 1, 256)
TASK_WORKERS = env.integer("TOOLSCRIPT_TASK_WORKERS", 2, 1, 64)
ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"
APPEND_SLASH = False

INSTALLED_APPS = [
    "unfold",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.postgres",
    "django.contrib.staticfiles",
    "django_celery_beat",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "config",
    "knowledge",
    "search",
    "skills",
    "tools_catalog",
    "tenants",
]
MIDDLEWARE = [
    "core.requests.RequestMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "core.requests.HostMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "tenants.middleware.AdminScopeMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in ("UserAttributeSimilarityValidator", "MinimumLengthValidator", "CommonPasswordValidator")
]
LANGUAGE_CODE = "en-us"
TIME_ZONE = "UTC"
USE_TZ = True
STATIC_URL = "/static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
WHITENOISE_USE_FINDERS = True

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["tenants.authentication.CallerAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": [],
    "DEFAULT_PARSER_CLASSES": ["core.wire.StrictJSONParser"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "core.api.exception_handler",
    "DEFAULT_METADATA_CLASS": None,
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "core.wire.JsonForAll",
    "UNAUTHENTICATED_USER": None,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Toolscript",
    "DESCRIPTION": "Finds the right tool among thousands: skills first, then tools, then schemas.",
    "VERSION": "1",
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_AUTHENTICATION": [],
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "REDOC_DIST": "SIDECAR",
    "OAS_VERSION": "3.1.0",
    "POSTPROCESSING_HOOKS": ["core.openapi.close_inputs", "core.openapi.say_who_may"],
}
UNFOLD = {
    "SITE_TITLE": "Toolscript",
    "SITE_HEADER": "Toolscript",
    "SITE_SYMBOL": "travel_explore",
    "STYLES": [without_scripts],
    "SIDEBAR": {"show_search": True, "show_all_applications": True, "navigation": NAVIGATION},
}

# --- Logs -------------------------------------------------------------------------------------------------
LOG_LEVEL = env.choice("TOOLSCRIPT_LOG_LEVEL", "INFO", ("DEBUG", "INFO", "WARNING", "ERROR"))
LOGGING = configure_logs(LOG_LEVEL)
