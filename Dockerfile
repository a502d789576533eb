FROM python:3.13-slim-trixie AS build
RUN python -m venv /opt/custom-scheduler
COPY setup.cfg pyproject.toml README.md LICENSE /src/
COPY webhook /src/webhook
COPY certs /src/certs
RUN --mount=type=cache,target=/root/.cache/pip /opt/custom-scheduler/bin/pip install --disable-pip-version-check /src

FROM python:3.13-slim-trixie
COPY --from=build /opt/custom-scheduler /opt/custom-scheduler
ENV PATH=/opt/custom-scheduler/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    CUSTOM_SCHEDULER_SERVE_LOG_FORMAT=json \
    CUSTOM_SCHEDULER_BINDER_LOG_FORMAT=json \
    CUSTOM_SCHEDULER_EXTENDER_LOG_FORMAT=json
USER 65532:65532
EXPOSE 8443 8080
ENTRYPOINT ["custom-scheduler"]
