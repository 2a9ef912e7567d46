# One image for every ContextOS process; the command decides which one runs.
FROM python:3.11-slim-bookworm AS build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PYTHONDONTWRITEBYTECODE=1
RUN python -m venv /opt/venv
WORKDIR /app
COPY requirements-runtime.lock ./
RUN /opt/venv/bin/pip install --require-hashes --no-deps -r requirements-runtime.lock
COPY manage.py ./
COPY contextos ./contextos
COPY audit ./audit
COPY registry ./registry
COPY approvals ./approvals
COPY gateway ./gateway
COPY templates ./templates
COPY static ./static
# The key only lets Django load; it is drawn for this step and kept nowhere.
RUN CONTEXTOS_ENV=production CONTEXTOS_STATIC_ROOT=/app/staticfiles \
    CONTEXTOS_SECRET_KEY="$(python -c 'import secrets; print(secrets.token_urlsafe(48))')" \
    /opt/venv/bin/python manage.py collectstatic --noinput \
    && /opt/venv/bin/python -m compileall -q /app /opt/venv/lib

FROM python:3.11-slim-bookworm
ENV PATH=/opt/venv/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 \
    CONTEXTOS_ENV=production CONTEXTOS_KEYS_DIR=/keys CONTEXTOS_STATIC_ROOT=/app/staticfiles
RUN groupadd --gid 10001 contextos \
    && useradd --uid 10001 --gid 10001 --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin contextos \
    && install -d -o 10001 -g 10001 -m 0700 /keys /exports /log-key /checkpoints
COPY --from=build /opt/venv /opt/venv
COPY --from=build /app /app
WORKDIR /app
USER 10001:10001
EXPOSE 8000
# Nothing below /app or /opt is written at run time: the root file system can be read-only.
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=15s --timeout=5s --start-period=30s --retries=3 \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/healthz', timeout=4)"]
ENTRYPOINT ["python", "manage.py"]
CMD ["serve", "--host", "0.0.0.0", "--port", "8000"]
