FROM python:3.12-slim

ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 PIP_NO_CACHE_DIR=1 TOOLSCRIPT_DATA_DIR=/data
RUN useradd --create-home --uid 1000 toolscript && mkdir /data && chown toolscript /data
WORKDIR /app
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY cli cli
COPY config config
COPY core core
COPY demo_server demo_server
COPY embeddings embeddings
COPY knowledge knowledge
COPY llm llm
COPY mcp_endpoint mcp_endpoint
COPY tenants tenants
COPY tools_catalog tools_catalog
COPY skills skills
COPY search search
COPY templates templates
COPY static static
COPY manage.py ./
RUN pip install -c constraints.txt -e .
USER toolscript
VOLUME /data
EXPOSE 8000
CMD ["python", "manage.py", "serve"]
